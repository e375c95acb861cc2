#pragma once

#include "sandbox/guest/exec/folded_text.hpp"
#include "sandbox/guest/exec/output.hpp"
#include "sandbox/guest/search/matcher.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// How far both streams of a job have been read, in bytes.
struct JobCursor {
    std::uint64_t out = 0;
    std::uint64_t err = 0;

    /// Throws Error(invalid_argument) for what to_text() never gives. Empty: the beginning.
    [[nodiscard]] static JobCursor parse(const std::string& text);
    [[nodiscard]] std::string to_text() const;
};

/// Gathers what one stream of a job has from a cursor on, a piece at a time.
class JobReader {
  public:
    /// `filter`: null for none; brief (MatcherOptions), as it runs on the loop's thread; must
    /// outlive this.
    JobReader(std::uint64_t begin, std::uint64_t head_limit, std::uint64_t tail_limit,
              const search::Matcher* filter);

    /// Reads on up to `end`, which is a line's, or where a line that is unfinished is to be taken
    /// as it is; at most about a mebibyte, and with a filter hardly longer than a hundredth of a
    /// second. False when there is more.
    bool read_on(const OutputStream& stream, std::uint64_t end);

    [[nodiscard]] bool has_text() const noexcept { return !kept_.empty(); }

    /// Bytes of the stream that have been looked at.
    [[nodiscard]] std::uint64_t at() const noexcept { return at_; }

    /// The line that was being put together is over: nothing comes behind it.
    void finish_line();

    /// It is not, but as it stands it has a match: enough to show it.
    void take_match();

    /// It is not: it is left to whoever reads on from at(), which goes back to its begin.
    void leave_line();

    /// Lines that were too long for so large a filter: shown, though nobody knows of a match.
    [[nodiscard]] std::uint64_t unjudged_lines() const noexcept { return unjudged_lines_; }

    [[nodiscard]] protocol::JobStream result(const OutputStream& stream) const;

  private:
    enum class Verdict { match, none, too_long };

    /// Up to where `piece` was taken: with a filter the turn may end before.
    std::size_t add(std::string_view piece, BootClock::time_point turn_end);
    void add_line(std::string_view line);
    [[nodiscard]] Verdict judge(std::string_view line) const;

    const search::Matcher* filter_;
    std::uint64_t begin_;
    std::uint64_t at_;
    std::uint64_t dropped_ = 0;
    std::uint64_t filtered_lines_ = 0;
    std::uint64_t filtered_bytes_ = 0;
    std::uint64_t unjudged_lines_ = 0;
    std::string line_;       ///< of which the end has not been read
    std::size_t judged_ = 0; ///< so long it was when it had no match
    FoldedText kept_;
};

/// Up to where a stream can be handed out: whole lines, and an unfinished one that has been so for
/// long, is too long to wait for, or has nobody left to finish it. `again`, if given, is set to
/// when an unfinished one that is held back will have been so for long enough.
[[nodiscard]] std::uint64_t readable_end(const OutputStream& stream, std::uint64_t at,
                                         std::optional<BootClock::time_point>* again = nullptr);

} // namespace berth::guest
