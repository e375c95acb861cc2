#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::guest {

/// Counts the lines of a text that arrives in pieces. A line ends with a newline; a last one
/// without it counts too.
class LineCounter {
  public:
    void feed(std::string_view piece) noexcept;

    [[nodiscard]] std::uint64_t lines() const noexcept
    {
        return newlines_ + (any_ && last_ != '\n' ? 1 : 0);
    }

    [[nodiscard]] bool final_newline() const noexcept { return any_ && last_ == '\n'; }

    /// "lf", "crlf", "mixed", or empty without any newline.
    [[nodiscard]] std::string line_ending() const;

    [[nodiscard]] bool mixed() const noexcept { return crlf_ > 0 && crlf_ < newlines_; }

    [[nodiscard]] bool all_crlf() const noexcept { return newlines_ > 0 && crlf_ == newlines_; }

  private:
    std::uint64_t newlines_ = 0;
    std::uint64_t crlf_ = 0; ///< of them, after a carriage return
    char last_ = 0;
    bool any_ = false;
};

/// Whether a text that arrives in pieces is well-formed UTF-8.
class Utf8Check {
  public:
    void feed(std::string_view piece);

    [[nodiscard]] bool valid_so_far() const noexcept { return valid_; }

    /// At the end of the text: an unfinished character is not well-formed.
    [[nodiscard]] bool finish() noexcept { return valid_ && carry_.empty(); }

  private:
    bool valid_ = true;
    std::string carry_; ///< the beginning of a character at the end of a piece: at most 3 bytes
};

/// Keeps a window of lines out of a text that arrives in pieces, in memory bounded by its budget
/// whatever the text is. Bytes that are not UTF-8 are kept as U+FFFD.
class LineWindow {
  public:
    /// Skips `offset` lines, then keeps at most `limit` lines and `budget` bytes, whole lines only;
    /// when not even the first fits, its beginning, cut between characters.
    LineWindow(std::uint64_t offset, std::uint64_t limit, std::uint64_t budget);

    void feed(std::string_view piece);
    /// At the end of the text.
    void finish();

    /// Nothing more will be kept.
    [[nodiscard]] bool full() const noexcept { return full_; }

    [[nodiscard]] std::uint64_t line_count() const noexcept { return line_count_; }

    /// Empty, "budget" or "line".
    [[nodiscard]] const std::string& truncated_by() const noexcept { return truncated_by_; }

    [[nodiscard]] std::string take_content() noexcept { return std::move(content_); }

  private:
    void end_line();

    std::uint64_t skip_;
    std::uint64_t limit_;
    std::uint64_t budget_;
    std::uint64_t line_count_ = 0;
    std::string content_;
    std::string line_; ///< the present line's beginning, at most budget_ + 4 bytes
    std::string truncated_by_;
    bool full_ = false;
};

} // namespace berth::guest
