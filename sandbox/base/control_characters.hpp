#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

/// Carriage returns before a newline that are part of the line's end: a line that went through
/// several translations of line ends has more than one. With more, they are no end of a line.
inline constexpr std::size_t longest_line_end = 8;

/// What becomes of the characters in a command's output that a terminal would obey
/// (docs/adr/0012-control-characters.md).
enum class ControlCharacters : std::uint8_t {
    strip,  ///< escape sequences are left out, what remains is written as `escape` does
    escape, ///< written as \x1b, \u202e; what is not UTF-8 as \xff
    pass,   ///< as they came; what is not UTF-8 becomes U+FFFD
};

/// What is written as one, and never cut: a character, a byte that belongs to none, an escape
/// sequence, or the carriage returns of a line's end.
struct Unit {
    std::size_t bytes = 0;
    std::size_t characters = 0; ///< it is written with; 0: an escape sequence that is left out
};

/// The one at the beginning of `text`, which is not empty. Newline and tab stay as they are, and
/// carriage returns before a newline or at the end.
[[nodiscard]] Unit first_unit(std::string_view text, ControlCharacters treatment) noexcept;

/// A text as it is shown.
struct ShownText {
    std::string text;            ///< valid UTF-8
    std::uint64_t sequences = 0; ///< left out
};

[[nodiscard]] ShownText show(std::string_view text, ControlCharacters treatment);

/// Characters of show().
[[nodiscard]] std::size_t shown_characters(std::string_view text, ControlCharacters treatment);

} // namespace berth
