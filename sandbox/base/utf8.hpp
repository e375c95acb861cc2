#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::utf8 {

/// Length in bytes of the well-formed character at the start of `text` (RFC 3629: no surrogates, no
/// overlong forms, at most U+10FFFF); 0 when there is none.
[[nodiscard]] std::size_t character_length(std::string_view text) noexcept;

/// The number of the one well-formed character that `character` is.
[[nodiscard]] char32_t code_point(std::string_view character) noexcept;

/// Whether the well-formed `character` is one that terminals obey instead of showing it: C0, DEL or
/// C1 (U+0080 to U+009F, of which U+009B begins a sequence as ESC [ does).
[[nodiscard]] bool is_control(std::string_view character) noexcept;

/// Whether the well-formed `character` can make the text it is in look like another one: a control
/// character, one that nobody sees (zero width space, byte order mark, soft hyphen, tags), a mark
/// that turns the reading direction, or a separator of lines or paragraphs. visible() in
/// sandbox/base/visible.hpp writes it with its number.
[[nodiscard]] bool is_deceptive(std::string_view character) noexcept;

/// Whether the valid `text` has a control character.
[[nodiscard]] bool has_control(std::string_view text) noexcept;

[[nodiscard]] bool is_valid(std::string_view text) noexcept;

/// Number of characters; every byte that belongs to no character counts as one.
[[nodiscard]] std::size_t count(std::string_view text) noexcept;

/// Replaces what is not well-formed by U+FFFD, one for each offending byte.
[[nodiscard]] std::string sanitize(std::string_view text);

/// The longest prefix of at most `bytes` bytes that does not end inside a character.
[[nodiscard]] std::string_view prefix_bytes(std::string_view text, std::size_t bytes) noexcept;

/// The longest suffix of at most `bytes` bytes that does not start inside a character.
[[nodiscard]] std::string_view suffix_bytes(std::string_view text, std::size_t bytes) noexcept;

} // namespace berth::utf8
