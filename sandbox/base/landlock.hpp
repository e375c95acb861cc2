#pragma once

#include <cstdint>

// What of Landlock (landlock(7)) is younger than Debian 12's headers. The calls are in
// syscalls.hpp.

namespace berth {

inline constexpr std::uint64_t landlock_truncate = 1U << 14;        // Linux 6.2, version 3
inline constexpr std::uint64_t landlock_ioctl_dev = 1U << 15;       // Linux 6.10, version 5
inline constexpr std::uint64_t landlock_abstract_sockets = 1U << 0; // Linux 6.12, version 6
inline constexpr std::uint64_t landlock_signals = 1U << 1;          // the same

/// From this version of Landlock on (Linux 6.12) it has scopes, of signals and abstract sockets.
inline constexpr unsigned landlock_with_scopes = 6;

/// landlock_ruleset_attr of version 6. An older kernel takes what it does not know where that is
/// zero.
struct LandlockAttributes {
    std::uint64_t files = 0;
    std::uint64_t ports = 0;
    std::uint64_t scopes = 0;
};

} // namespace berth
