#pragma once

#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::guest {

/// What tells one state of a file from another. The time is that of its inode's last change, which
/// the kernel alone sets. Of a link also what it leads to.
struct FileStamp {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed = 0; ///< nanoseconds since 1970
    unsigned mode = 0;

    bool operator==(const FileStamp&) const = default;
};

/// The protected files that are there, in some folders.
struct ProtectedScan {
    struct File {
        std::string folder;
        FileStamp stamp;
    };

    std::set<std::string> folders;     ///< that were looked at
    std::map<std::string, File> files; ///< by path
    std::set<std::string> unread;      ///< at and below these nothing could be seen
};

/// Looks at the home, the mounts, and for each of `places` at that folder and those above it, down
/// to the root that it lies in. No tree is walked: of folders that are protected whole three
/// levels, of at most a thousand entries. Blocks as its disks do, opens no file.
[[nodiscard]] ProtectedScan scan_protected(const protocol::Protection& protection,
                                           const std::vector<std::string>& places,
                                           const protocol::GuestConfig& config);

/// Nothing where it is not there, or cannot be seen (errno).
[[nodiscard]] std::optional<FileStamp> stamp_of(int folder, const std::string& name);

/// The clock by which the kernel stamps files.
[[nodiscard]] std::int64_t stamp_time_now() noexcept;

} // namespace berth::guest
