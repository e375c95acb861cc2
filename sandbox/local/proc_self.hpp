#pragma once

#include <cstdint>
#include <string>

namespace berth::local {

// What /proc/self says of this process. `root` is put before the path, for tests. Each throws
// std::system_error where it cannot be read.

/// The effective ones, a bit each (CAP_CHOWN is bit 0); none where it is not said.
[[nodiscard]] std::uint64_t effective_capabilities(const std::string& root);

/// "Uid" or "Gid": the effective one, as this user namespace sees it; -1 where it is not said.
[[nodiscard]] long effective_id(const std::string& root, const char* kind);

/// Whether "uid_map" or "gid_map" has the whole range. A range that is spread over two lines of it
/// counts as missing: such maps are not made by anybody.
[[nodiscard]] bool has_ids(const std::string& root, const char* map, std::uint64_t first,
                           std::uint64_t count);

/// Whether the kernel schedules it by SCHED_FIFO or SCHED_RR.
[[nodiscard]] bool is_realtime(const std::string& root);

} // namespace berth::local
