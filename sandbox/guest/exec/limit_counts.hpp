#pragma once

#include "sandbox/protocol/guest_config.hpp"

#include <cstdint>

namespace berth::guest {

/// How often the limits that a session's commands share were met since their cgroup was made. What
/// is not counted here stays 0.
struct LimitCounts {
    std::uint64_t oom_kills = 0;
    std::uint64_t refused_processes = 0;
    std::uint64_t cpu_periods = 0;
    std::uint64_t throttled_periods = 0;
    std::uint64_t throttled_time = 0; ///< microseconds, of all processors together

    /// What came to them since then.
    [[nodiscard]] LimitCounts since(const LimitCounts& before) const noexcept;
};

/// From the files that the configuration names.
[[nodiscard]] LimitCounts limit_counts(const protocol::GuestConfig& config);

/// As forget_reading() of each of these files.
void forget_limit_counts(const protocol::GuestConfig& config) noexcept;

} // namespace berth::guest
