#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::protocol {

/// What becomes of a named session when the last server that works in it is gone. The numbers are
/// sent.
enum class OnDisconnect : std::uint8_t {
    idle = 0, ///< paused as soon as no call and no job is left
    now = 1,  ///< paused at once; jobs sleep with it
    keep = 2, ///< left as it is, however idle, until a server comes back
    kill = 3, ///< ended
};

inline constexpr std::array<std::string_view, 4> on_disconnect_words{"idle", "now", "keep", "kill"};

/// Of a number that is none of these, as a newer peer may send it: the default's.
[[nodiscard]] inline std::string_view to_string(OnDisconnect value) noexcept
{
    const auto index = static_cast<std::size_t>(value);
    return on_disconnect_words.at(index < on_disconnect_words.size() ? index : 0);
}

[[nodiscard]] inline std::optional<OnDisconnect> on_disconnect_from(std::string_view word) noexcept
{
    for (std::size_t i = 0; i < on_disconnect_words.size(); ++i) {
        if (on_disconnect_words.at(i) == word) {
            return static_cast<OnDisconnect>(i);
        }
    }
    return std::nullopt;
}

} // namespace berth::protocol
