#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/guest/exec/line_filter.hpp"
#include "sandbox/guest/exec/output.hpp"
#include "sandbox/protocol/folded_text.hpp"
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
///
/// Without a filter: read_on() until it is through. With one: fetch() and, while it has something,
/// judge(), which may take long and needs nothing but this: on any thread, the others wait.
class JobReader {
  public:
    JobReader(std::uint64_t begin, std::uint64_t head_limit, std::uint64_t tail_limit);
    JobReader(std::uint64_t begin, LineFilter filter);

    /// Reads on up to `end`, which is a line's, or where a line that is unfinished is to be taken
    /// as it is; at most about a mebibyte. False when there is more.
    bool read_on(const OutputStream& stream, std::uint64_t end);

    /// The next piece below `end`, for judge(). False: there is none.
    bool fetch(const OutputStream& stream, std::uint64_t end);

    /// Judges the lines of what was fetched, and the unfinished one where that was all. What it
    /// left, since `leave` said so, will be fetched again.
    void judge(const LineFilter::Leave& leave);

    [[nodiscard]] bool has_text() const noexcept
    {
        return filter_ ? filter_->has_text() : !kept_.empty();
    }

    /// Bytes of the stream that have been looked at.
    [[nodiscard]] std::uint64_t at() const noexcept { return at_; }

    /// With a filter, behind all: the unfinished line, which has no match as it stands, is over
    /// or, if `goes_on`, left to whoever reads on from at(), which goes back to its begin.
    void settle(bool goes_on);

    [[nodiscard]] protocol::JobStream result(const OutputStream& stream) const;

  private:
    [[nodiscard]] const protocol::FoldedText& kept() const noexcept
    {
        return filter_ ? filter_->kept() : kept_;
    }

    void skip_gap();

    std::uint64_t begin_;
    std::uint64_t at_;
    std::uint64_t end_ = 0; ///< as fetch() was told
    std::uint64_t dropped_ = 0;
    protocol::FoldedText kept_; ///< without a filter
    std::optional<LineFilter> filter_;
    std::string piece_;       ///< fetched
    std::uint64_t found_ = 0; ///< where it begins: behind at_ when bytes are lost
};

/// Who waits for output of a job.
struct JobWaiter {
    std::uint64_t begin = 0; ///< of the stream: what is behind it is new
    BootClock::time_point since;
};

/// What of a stream can be handed out.
struct Readable {
    /// Whole lines, and an unfinished one that has been so for long, is too long to wait for, or
    /// has nobody left to finish it. No character is cut that somebody may finish.
    std::uint64_t end = 0;
    /// Who waits is answered: there is a new whole line, or something new of an unfinished one that
    /// nothing came to for 0.2 s or that has been so for 1 s or has 64 KiB. If that line is
    /// rewritten, as progress bars are, only when nothing came for 3 s; if its beginning is no
    /// news, not before 1 s of waiting.
    bool news = false;
    /// When either may be more without anything having come; nothing: never.
    std::optional<BootClock::time_point> again;
};

/// At `now`; `at`: so much has been read.
[[nodiscard]] Readable readable(const OutputStream& stream, std::uint64_t at,
                                const JobWaiter& waiter, BootClock::time_point now);

} // namespace berth::guest
