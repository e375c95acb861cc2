#pragma once

#include "sandbox/base/mount_table.hpp"
#include "sandbox/local/own_folders.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth::local {

/// Device and number: a file or folder, whatever it is called.
using FileId = std::pair<dev_t, ino_t>;

/// Of an open file or folder; `path` is for the error. Throws std::system_error.
[[nodiscard]] FileId id_of(int fd, const std::string& path);

/// Whether `folder` is `inner` or an ancestor of it. By identity, not by name: a bind mount gives
/// one folder several names. False when `inner` is not there.
[[nodiscard]] bool contains(const FileId& folder, const std::string& inner);

/// Whether it is absolute, without ".", "..", a doubled slash or one at the end.
[[nodiscard]] bool is_plain_path(std::string_view path);

/// A file or folder of the host that shall be shown inside, and as what errors name it: "mount
/// source".
struct Source {
    std::string path;
    std::string called;
};

/// Throws Error(invalid_argument) when it may not be shown: it is missing, neither folder nor file,
/// reached through a symbolic link (an earlier sandbox with a writable mount may have put it
/// there), of no use to who runs berth, on or above a kernel file system, or shows something of one
/// of `own` (with them a sandbox could reach every other), by whatever name: what is mounted below
/// a source is shown with it. Folders of `own` need not be there yet. Returns which one was looked
/// at: by its name there may be another one as soon as this has returned.
[[nodiscard]] FileId check_source(const Source& source, const std::vector<OwnFolder>& own,
                                  const MountTable& mounts);

} // namespace berth::local
