#pragma once

#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/job_reading.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace berth::guest {

/// A job as those see it who ask for it; valid until the loop turns.
struct JobView {
    const OutputStream& out;
    const OutputStream& err;
    bool running;
    bool shell_ended;
    std::function<protocol::JobState()> state; ///< reads /proc
};

/// The calls about jobs that wait for something: for output, or for an end. Belongs to the loop's
/// thread and never blocks it: filters run on workers.
class JobCalls {
  public:
    using Id = std::uint64_t;
    using OutputDone =
        std::function<void(protocol::JobOutputReply reply, std::exception_ptr error)>;
    using EndDone = std::function<void(protocol::JobState state, std::exception_ptr error)>;
    /// Throws Error(not_found).
    using Find = std::function<JobView(const std::string& job_id)>;

    /// `loop` must outlive the jobs of `workers`.
    JobCalls(EventLoop& loop, Workers& workers, Find find);
    ~JobCalls();
    JobCalls(const JobCalls&) = delete;
    JobCalls& operator=(const JobCalls&) = delete;

    /// `done` is called once, later, unless the call is dropped first. `asker`: see Workers::run.
    /// Throws Error (not_found, invalid_argument).
    Id output(const protocol::JobOutputRequest& request, OutputDone done, std::string asker = {});

    /// When nothing of the job runs any more.
    Id end(const std::string& job_id, EndDone done);

    /// Nobody waits for it any more. Nothing happens if it has been answered.
    void drop(Id id);

    /// The job has printed something, or it or its shell has ended.
    void changed(const std::string& job_id, bool running);

  private:
    struct Output;
    struct End;

    void look_soon(Output& call, BootClock::time_point at);
    void look(Id id);
    /// False: it goes on.
    bool advance(Output& call);
    [[nodiscard]] static bool has_news(const Output& call, bool readable_news,
                                       BootClock::time_point now, BootClock::time_point& next);
    void judge(Output& call);
    [[nodiscard]] protocol::JobOutputReply reply_of(Output& call);
    void answer_end(Id id);

    EventLoop& loop_;
    Workers& workers_;
    Find find_;
    Id last_ = 0;
    std::map<Id, std::shared_ptr<Output>> outputs_;
    std::map<Id, std::unique_ptr<End>> ends_;
};

} // namespace berth::guest
