#pragma once

#include <string>
#include <vector>

namespace berth::local {

/// A folder of berth's own on this host, which no sandbox may see: by what is in it each session
/// could reach every other.
struct OwnFolder {
    std::string path;    ///< absolute; need not be there yet
    std::string setting; ///< the flag that puts it elsewhere, empty when there is none
};

/// The state directory, the workspace (unless empty), and where the sockets may be.
[[nodiscard]] std::vector<OwnFolder> own_folders(const std::string& state,
                                                 const std::string& workspace);

/// $HOME; empty where it is not absolute.
[[nodiscard]] std::string home_folder();

/// The real path of `path`; what is not there yet of it stays as it is written.
[[nodiscard]] std::string real_place(const std::string& path);

} // namespace berth::local
