#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

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

/// How long ago that was by the boot's own clock; nothing where the host was restarted since.
[[nodiscard]] std::optional<std::chrono::seconds> passed_since(const HostTime& time,
                                                               const HostTime& now);

/// "BOOT UP WALL", and the reverse; nothing for what is not of that form.
[[nodiscard]] std::string to_text(const HostTime& time);
[[nodiscard]] std::optional<HostTime> host_time_from(std::string_view text);

} // namespace berth
