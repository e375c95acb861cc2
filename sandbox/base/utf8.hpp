#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::utf8 {

/// Length in bytes of the well-formed character at the start of `text` (RFC 3629: no surrogates, no
/// overlong forms, at most U+10FFFF); 0 when there is none.
[[nodiscard]] std::size_t character_length(std::string_view text) noexcept;

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
