#pragma once

#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::tools {

/// How a stream is cut: this much of its budget is its beginning, the rest its end.
inline constexpr std::size_t head_percent = 60;

/// Characters for each of a command's two streams.
struct StreamBudgets {
    std::size_t out = 0;
    std::size_t err = 0;
};

/// Divides `budget` between streams that have `out` and `err` characters: standard error gets at
/// least a quarter when it needs it, what one does not need goes to the other.
[[nodiscard]] StreamBudgets divide_budget(std::size_t budget, std::size_t out, std::size_t err);

/// What is shown of a stream. head.size() + tail.size() + omitted_bytes is its length; newlines in
/// head and tail + omitted_lines is the number of its newlines.
struct Excerpt {
    std::string_view head;
    std::string_view tail; ///< empty: all of it is in head, or nothing was left for an end
    std::uint64_t omitted_bytes = 0;
    std::uint64_t omitted_lines = 0; ///< newlines in what was left out
};

/// Fits what the guest kept of a stream into `budget` characters: it is cut at a line's end where
/// one is near, never inside a character. Invalid bytes count as one character each. `joined` is
/// storage for the excerpt's views and must outlive it, as must `stream`.
[[nodiscard]] Excerpt fit(const protocol::StreamOutput& stream, std::size_t budget,
                          std::string& joined);

/// Head, "[... 1,234 lines (56.7 KB) left out ...]" on a line of its own, tail; as valid UTF-8.
[[nodiscard]] std::string to_text(const Excerpt& excerpt);

/// Characters of a stream as far as they are known: at least this many.
[[nodiscard]] std::size_t known_characters(const protocol::StreamOutput& stream);

/// The longest prefix of at most `characters` characters.
[[nodiscard]] std::string_view prefix_characters(std::string_view text, std::size_t characters);

/// The longest suffix of at most `characters` characters.
[[nodiscard]] std::string_view suffix_characters(std::string_view text, std::size_t characters);

} // namespace berth::tools
