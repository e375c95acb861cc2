#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// A sealed opening in the environment of the process that it is for, so that it comes with the
// request that starts it. In base64, since an environment has no zeros, and in pieces, since the
// kernel takes 131,071 bytes for one variable (docs/adr/0016-e2b-channel.md has what it took of
// them together).

namespace berth::protocol {

/// Of a piece before base64, which makes 120 KiB of it.
inline constexpr std::size_t opening_piece = 90U << 10U;
inline constexpr std::size_t most_opening_pieces = 4;

/// What is longer goes another way.
inline constexpr std::size_t longest_opening_in_variables = most_opening_pieces * opening_piece;

/// BERTH_OPENING_0 and so on. Nothing for one that is empty or too long.
[[nodiscard]] std::optional<std::map<std::string, std::string>>
opening_variables(std::string_view sealed);

/// What opening_variables() was given, of an environment that may have others too. `value`: of a
/// variable, nothing where it is not set. Nothing where there is none of it, or a piece that cannot
/// be one; that the last ones are missing is for open_opening() to see.
[[nodiscard]] std::optional<std::string> opening_in_variables(
    const std::function<std::optional<std::string_view>(const std::string& name)>& value);

} // namespace berth::protocol
