#pragma once

#include <chrono>
#include <string>

namespace berth {

/// Of this boot of the kernel. Throws std::system_error.
[[nodiscard]] std::string boot_id();

/// A moment, written down so that a later one can be compared with it after the host was restarted
/// or its wall clock was set.
struct HostTime {
    std::string boot;
    std::chrono::seconds up{0};   ///< CLOCK_BOOTTIME: counts suspended time too, cannot be set
    std::chrono::seconds wall{0}; ///< since 1970; may be wrong

    /// Throws std::system_error.
    [[nodiscard]] static HostTime now();

    friend bool operator==(const HostTime&, const HostTime&) = default;
};

} // namespace berth
