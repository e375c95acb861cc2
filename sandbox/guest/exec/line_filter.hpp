#pragma once

#include "sandbox/base/control_characters.hpp"
#include "sandbox/guest/search/matcher.hpp"
#include "sandbox/protocol/folded_text.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// Of a text that comes in pieces, the lines with a match. What is judged of a line is what would
/// be shown of it: its last state (FoldedText), with its control characters as they are treated,
/// without its line end.
///
/// A line is judged as one up to longest_line(). Of a longer one a match is looked for in windows
/// of that size, each with the last quarter of the one before: one that is no longer than that is
/// found wherever it lies. `^` and `$` are the line's ends, not a window's. Either way all of the
/// line is kept, or none.
///
/// Memory: two windows, and FoldedText's; twice while a longer line goes on. For one thread at a
/// time.
class LineFilter {
  public:
    /// Asked behind every line and window.
    using Leave = std::function<bool()>;

    LineFilter(std::shared_ptr<const search::Matcher> matcher, ControlCharacters treatment,
               std::uint64_t head_limit, std::uint64_t tail_limit);

    [[nodiscard]] std::size_t longest_line() const noexcept { return longest_; }

    /// Up to where `piece` was taken: before its end once `leave` says so.
    std::size_t add(std::string_view piece, const Leave& leave);

    /// The unfinished line is over: nothing comes behind it.
    void finish_line();

    /// It is not, but has a match as it stands: enough to keep it.
    void take_match();

    /// It has none as it stands, and is counted so.
    void drop_line();

    /// It is left to who begins there again: its bytes, which are forgotten. One that is longer
    /// than is judged as one is dropped, so that nobody reads it from its begin for ever.
    [[nodiscard]] std::uint64_t leave_line();

    /// A line with a match is kept.
    [[nodiscard]] bool has_text() const noexcept
    {
        return !(before_ && !matched_ ? *before_ : kept_).empty();
    }

    /// With, while one goes on that is longer than is judged as one, what came of it.
    [[nodiscard]] const protocol::FoldedText& kept() const noexcept { return kept_; }

    [[nodiscard]] std::uint64_t filtered_lines() const noexcept { return filtered_lines_; }

    [[nodiscard]] std::uint64_t filtered_bytes() const noexcept { return filtered_bytes_; }

  private:
    void add_part(std::string_view part);
    void next_window();
    void end_line(bool matches);
    [[nodiscard]] bool has_match(bool to_end) const;

    std::shared_ptr<const search::Matcher> matcher_;
    ControlCharacters treatment_;
    std::size_t longest_;
    protocol::FoldedText kept_;
    std::uint64_t filtered_lines_ = 0;
    std::uint64_t filtered_bytes_ = 0;

    std::string window_;           ///< of the unfinished line: all of it, or its end
    std::uint64_t line_bytes_ = 0; ///< of the unfinished line
    std::uint64_t judged_ = 0;     ///< as many it had when it had no match
    bool from_begin_ = true;       ///< window_ begins where the line does
    bool matched_ = false;         ///< a window has
    /// What was kept before a line that is longer than a window: such a one is kept as it comes.
    std::optional<protocol::FoldedText> before_;
};

} // namespace berth::guest
