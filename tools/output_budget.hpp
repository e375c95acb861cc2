#pragma once

#include "sandbox/base/control_characters.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

/// What is shown of a stream. head.size() + tail.size() + omitted_bytes and what the guest folded
/// is its length; newlines in head and tail + omitted_lines is the number of its newlines.
struct Excerpt {
    std::string_view head;
    std::string_view tail; ///< empty: all of it is in head, or nothing was left for an end
    std::uint64_t omitted_bytes = 0;
    std::uint64_t omitted_lines = 0; ///< newlines in what was left out
};

/// Fits what the guest kept of a stream into `budget` characters, as they are written: it is cut at
/// a line's end where one is near, never inside a character. `joined` is storage for the excerpt's
/// views and must outlive it, as must `stream`.
[[nodiscard]] Excerpt fit(const protocol::StreamOutput& stream, std::size_t budget,
                          ControlCharacters treatment, std::string& joined);

/// Head, "[... 1,234 lines (56.7 KB) left out ...]" on a line of its own, tail.
[[nodiscard]] ShownText to_text(const Excerpt& excerpt, ControlCharacters treatment);

/// Characters of a stream, as they are written, as far as they are known: at least this many.
[[nodiscard]] std::size_t known_characters(const protocol::StreamOutput& stream,
                                           ControlCharacters treatment);

/// The longest prefix that is written with at most `characters` characters.
[[nodiscard]] std::string_view
prefix_characters(std::string_view text, std::size_t characters,
                  ControlCharacters treatment = ControlCharacters::pass);

/// The longest suffix that is written with at most `characters` characters.
[[nodiscard]] std::string_view suffix_characters(std::string_view text, std::size_t characters,
                                                 ControlCharacters treatment);

/// A stream as it is shown, and what is missing in it.
struct ShownStream {
    std::string text;
    std::uint64_t omitted_bytes = 0;
    std::uint64_t omitted_lines = 0;
    std::uint64_t stripped_sequences = 0; ///< in what is shown
};

/// Standard output and standard error within one budget of characters.
[[nodiscard]] std::pair<ShownStream, ShownStream> show_streams(const protocol::StreamOutput& out,
                                                               const protocol::StreamOutput& err,
                                                               std::size_t budget,
                                                               ControlCharacters treatment);

} // namespace berth::tools
