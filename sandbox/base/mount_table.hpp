#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A piece of a file system, and where it can be seen.
struct MountPiece {
    std::string device; ///< MAJOR:MINOR of the file system
    std::string path;   ///< in the file system
    std::string name;   ///< on this host
    std::string type;   ///< ext4, proc, tmpfs ...
};

/// The mounts that this process sees, as /proc/self/mountinfo tells them (proc_pid_mountinfo(5)).
/// By them a folder is known whatever it is called: a bind mount gives it another name, which no
/// comparison of paths finds, and one below a folder comes along when the folder is shown inside.
class MountTable {
  public:
    /// Lines that are not of that form are left out.
    [[nodiscard]] static MountTable parse(std::string_view mountinfo);

    /// The present one. Throws std::system_error.
    [[nodiscard]] static MountTable read();

    /// The file or folder at `path`, an absolute path without links, then what is mounted below it,
    /// also what another mount has covered since. Empty when no mount holds the path.
    [[nodiscard]] std::vector<MountPiece> pieces(const std::string& path) const;

  private:
    struct Mount {
        unsigned id = 0;
        unsigned parent = 0;
        MountPiece piece;
    };

    static bool parse_line(std::string_view line, Mount& mount);
    [[nodiscard]] const Mount* root() const;
    [[nodiscard]] const Mount* on(const Mount& parent, std::string_view place) const;
    [[nodiscard]] const Mount* holder(const std::string& path) const;

    std::vector<Mount> mounts_;
};

enum class Seen { whole, in_part };

/// Where at or below `tree` the folder whose pieces are `folder` can be seen, sorted, none in
/// another one. In part: also where something shows only what is somewhere below it.
[[nodiscard]] std::vector<std::string> seen_at(const std::vector<MountPiece>& tree,
                                               const std::vector<MountPiece>& folder,
                                               Seen seen = Seen::in_part);

} // namespace berth
