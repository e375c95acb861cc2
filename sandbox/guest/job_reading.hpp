#pragma once

#include "sandbox/guest/exec/job_reader.hpp"
#include "sandbox/protocol/messages.hpp"

#include <exception>
#include <stop_token>

namespace berth::guest {

/// What one call reads of a job: both streams from a cursor on, through its filter. Belongs to the
/// loop's thread, which gives it away for judge() and gets it back.
class JobReading {
  public:
    /// Throws Error(invalid_argument) for a filter that is none, or too large.
    JobReading(const protocol::JobOutputRequest& request, const JobCursor& cursor);

    enum class State {
        through, ///< all up to `end` has been read
        more,    ///< not yet
        fetched, ///< not yet, and judge() comes next
    };

    /// Reads on up to `end` (Readable), a part at a time.
    [[nodiscard]] State read_on(const OutputStream& out, const OutputStream& err,
                                const JobCursor& end);

    /// What was fetched, for about a twentieth of a second, and one line or window (LineFilter) at
    /// least. Needs nothing else and may be run anywhere. What it throws, read_on() does.
    void judge() noexcept;

    /// judge() leaves at the next line: nobody waits for it any more. Thread-safe.
    void stop() noexcept { stop_.request_stop(); }

    [[nodiscard]] bool has_filter() const noexcept { return has_filter_; }

    [[nodiscard]] JobCursor at() const noexcept { return {out_.at(), err_.at()}; }

    [[nodiscard]] bool has_text() const noexcept { return out_.has_text() || err_.has_text(); }

    /// The streams and the cursor of the reply: the last that is asked of it. `end`: up to where
    /// it should have read.
    void put_into(protocol::JobOutputReply& reply, const OutputStream& out, const OutputStream& err,
                  const JobCursor& end);

  private:
    bool has_filter_;
    JobReader out_;
    JobReader err_;
    bool out_fetched_ = false;
    bool err_fetched_ = false;
    std::stop_source stop_;
    std::exception_ptr error_;
};

} // namespace berth::guest
