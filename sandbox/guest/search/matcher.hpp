#pragma once

#include "sandbox/guest/search/literal_set.hpp"
#include "sandbox/guest/search/scan_meter.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace re2 {
class RE2;
} // namespace re2

namespace berth::guest::search {

struct MatcherOptions {
    bool fixed = false; ///< the pattern is text
    bool ignore_case = false;
    bool multiline = false; ///< a match may go over line ends
    /// For one of many that are kept while their calls wait: a small program and little memory.
    bool small = false;
};

/// A compiled search: RE2's syntax and semantics, `^` and `$` at every line, `.` without newline.
/// What can be decided by its literals alone never reaches RE2. Immutable and shared by threads.
class Matcher {
  public:
    struct Span {
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    /// Throws Error(invalid_argument) for a bad pattern, naming what is unsupported.
    Matcher(std::string_view pattern, const MatcherOptions& options);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    /// The next occurrence that begins at `from` or after it; may be empty. Without multiline
    /// `text` is one line. Nothing either once the meter is exhausted: here and below.
    [[nodiscard]] std::optional<Span> find(std::string_view text, std::size_t from,
                                           ScanMeter& meter) const;

    /// An occurrence lies between; what is before and behind that tells of the line's ends only.
    /// `text` is one line.
    [[nodiscard]] bool occurs(std::string_view text, Span between, ScanMeter& meter) const;

    /// The next lines with a match: from the begin of the first to the end of the last, its
    /// newline not included. Without multiline always one line. `text` is whole lines, the last
    /// newline may be missing; `from` is the begin of a line.
    [[nodiscard]] std::optional<Span> find_lines(std::string_view text, std::size_t from,
                                                 ScanMeter& meter) const;

    /// What blocks of text may have at most. RE2 cannot be interrupted and, when its automaton
    /// outgrows its memory, takes time by text and size of program: less text for large ones. A
    /// line, or with multiline a file, that is more than that ends the block: the meter gives up.
    [[nodiscard]] std::size_t max_block() const noexcept { return max_block_; }

    /// What find() and occurs() take at most; with more the meter gives up.
    [[nodiscard]] std::size_t max_piece() const noexcept { return max_piece_; }

    [[nodiscard]] bool multiline() const noexcept { return options_.multiline; }

  private:
    void compile(std::string_view pattern);
    void extract_literals(std::string_view pattern);
    void limit_blocks(std::size_t program_size);
    [[nodiscard]] bool may_scan(std::size_t bytes, ScanMeter& meter) const noexcept;
    [[nodiscard]] bool matches_line(std::string_view line, ScanMeter& meter) const;
    [[nodiscard]] std::optional<Span> find_by_literals(std::string_view text, std::size_t from,
                                                       ScanMeter& meter) const;
    [[nodiscard]] std::optional<Span> find_by_windows(std::string_view text, std::size_t from,
                                                      ScanMeter& meter) const;
    [[nodiscard]] std::optional<Span> find_spanning(std::string_view text, std::size_t from,
                                                    ScanMeter& meter) const;

    std::optional<LiteralSet> literals_; ///< no line without one of them matches
    std::unique_ptr<re2::RE2> regex_;    ///< null: `literals_` has exactly one, and it is all
    std::size_t max_block_ = 0;
    std::size_t max_piece_ = 0;    ///< that RE2 gets at once
    bool literals_decide_ = false; ///< every line with one of `literals_` matches
    bool one_by_one_ = false;      ///< RE2 must not see two lines at once
    MatcherOptions options_;
};

/// The lines that `span` touches.
[[nodiscard]] Matcher::Span lines_around(std::string_view text, Matcher::Span span) noexcept;

} // namespace berth::guest::search
