#include "sandbox/guest/job_calls.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace berth::guest {
namespace {

/// From the first thing to show until the answer: what comes together is shown together.
constexpr std::chrono::milliseconds gathering{100};
/// Between two looks at a job that prints without a pause.
constexpr std::chrono::milliseconds between_looks{20};

std::unique_ptr<search::Matcher> make_filter(const std::string& pattern)
{
    if (pattern.empty()) {
        return nullptr;
    }
    try {
        return std::make_unique<search::Matcher>(pattern, search::MatcherOptions{.brief = true});
    } catch (const Error& error) {
        throw Error(error.code(), std::string("filter: ") + error.what(),
                    "The syntax is RE2's: escape ( ) [ ] { } . * + ? ^ $ | \\ with a backslash "
                    "where they are meant literally. Lower numbers in {n,m} make it smaller.");
    }
}

/// After what can be read has been: of a line that is unfinished a filter sees the rest later.
void leave_unfinished(JobReader& reader, const OutputStream& stream)
{
    if (stream.fd() >= 0) {
        reader.leave_line();
    } else {
        reader.finish_line();
    }
}

std::string unjudged_notice(std::uint64_t lines)
{
    return std::to_string(lines) + (lines == 1 ? " line was" : " lines were") +
           " too long for so large a filter: shown without a look for a match";
}

} // namespace

struct JobCalls::Output {
    Output(const protocol::JobOutputRequest& request, const JobCursor& cursor)
        : job_id(request.job_id), filter(make_filter(request.filter)),
          out(cursor.out, request.head_limit, request.tail_limit, filter.get()),
          err(cursor.err, request.head_limit, request.tail_limit, filter.get()),
          deadline(BootClock::now() +
                   std::chrono::milliseconds(std::min<std::uint64_t>(request.wait, 3'600'000)))
    {
    }

    std::string job_id;
    std::unique_ptr<search::Matcher> filter;
    JobReader out;
    JobReader err;
    BootClock::time_point deadline;
    std::optional<BootClock::time_point> gathered; ///< there is something to show: until then
    /// Where the answer ends, once it is due: what a job prints meanwhile could go on for ever.
    std::optional<JobCursor> last;
    bool shell_had_ended = false; ///< when the call came
    OutputDone done;
    EventLoop::TimerId timer = 0;
    BootClock::time_point next; ///< when the timer fires
    Id id = 0;
};

struct JobCalls::End {
    std::string job_id;
    EndDone done;
};

JobCalls::JobCalls(EventLoop& loop, Find find) : loop_(loop), find_(std::move(find)) {}

JobCalls::~JobCalls()
{
    for (const auto& [id, call] : outputs_) {
        loop_.cancel(call->timer);
    }
}

JobCalls::Id JobCalls::output(const protocol::JobOutputRequest& request, OutputDone done)
{
    const JobView job = find_(request.job_id);
    const auto cursor = JobCursor::parse(request.cursor);
    if (cursor.out > job.out.total_bytes() || cursor.err > job.err.total_bytes()) {
        throw Error(ErrorCode::invalid_argument,
                    "since: " + request.cursor + " lies behind what " + request.job_id +
                        " has printed so far (" +
                        JobCursor{job.out.total_bytes(), job.err.total_bytes()}.to_text() + ")",
                    "It is the cursor of another job, or of one in a sandbox that is gone: leave "
                    "it out to begin at the beginning.");
    }
    auto call = std::make_unique<Output>(request, cursor);
    call->shell_had_ended = job.shell_ended;
    call->done = std::move(done);
    call->id = ++last_;
    look_soon(*call, BootClock::now());
    const Id id = call->id;
    outputs_.emplace(id, std::move(call));
    return id;
}

JobCalls::Id JobCalls::end(const std::string& job_id, EndDone done)
{
    const bool running = find_(job_id).running;
    const Id id = ++last_;
    ends_.emplace(id, std::make_unique<End>(job_id, std::move(done)));
    if (!running) {
        loop_.post([this, id] { answer_end(id); });
    }
    return id;
}

void JobCalls::drop(Id id)
{
    ends_.erase(id);
    if (const auto found = outputs_.find(id); found != outputs_.end()) {
        loop_.cancel(found->second->timer);
        outputs_.erase(found);
    }
}

void JobCalls::changed(const std::string& job_id, bool running)
{
    const auto now = BootClock::now();
    for (const auto& [id, call] : outputs_) {
        if (call->job_id == job_id) {
            look_soon(*call, running ? now + between_looks : now);
        }
    }
    if (running) {
        return;
    }
    // Later: whoever tells of it is in the middle of ending it.
    (void)loop_.call_at(now, [this, job_id] {
        std::vector<Id> ended;
        for (const auto& [id, call] : ends_) {
            if (call->job_id == job_id) {
                ended.push_back(id);
            }
        }
        std::ranges::for_each(ended, [this](Id id) { answer_end(id); });
    });
}

/// No later than `at`.
void JobCalls::look_soon(Output& call, BootClock::time_point at)
{
    if (call.timer != 0 && call.next <= at) {
        return;
    }
    loop_.cancel(call.timer);
    call.next = at;
    call.timer = loop_.call_at(at, [this, id = call.id] { look(id); });
}

void JobCalls::look(Id id)
{
    const auto found = outputs_.find(id);
    if (found == outputs_.end()) {
        return;
    }
    Output& call = *found->second;
    call.timer = 0;
    const auto began = BootClock::now();
    if (call.filter && began < filters_wait_) {
        look_soon(call, filters_wait_);
        return;
    }
    protocol::JobOutputReply reply;
    std::exception_ptr error;
    try {
        const bool ready = advance(call);
        if (call.filter) {
            // Half of the loop's time at most, however many there are.
            const auto ended = BootClock::now();
            filters_wait_ = ended + (ended - began);
        }
        if (!ready) {
            return;
        }
        reply = reply_of(call);
    } catch (...) {
        error = std::current_exception(); // it may have been forgotten meanwhile
    }
    const auto done = std::move(call.done);
    outputs_.erase(id);
    done(std::move(reply), error);
}

bool JobCalls::advance(Output& call)
{
    const JobView job = find_(call.job_id);
    const auto now = BootClock::now();
    std::optional<BootClock::time_point> again;
    JobCursor end{readable_end(job.out, call.out.at(), &again),
                  readable_end(job.err, call.err.at(), &again)};
    const bool due = !job.running || now >= call.deadline ||
                     (job.shell_ended && !call.shell_had_ended) ||
                     (call.gathered && now >= *call.gathered);
    if (due && !call.last) {
        call.last = end;
    }
    if (call.last) {
        end = *call.last;
    }
    const bool out_read = call.out.read_on(job.out, end.out);
    const bool err_read = call.err.read_on(job.err, end.err);
    if (out_read && err_read) {
        call.out.take_match();
        call.err.take_match();
        if (due) {
            leave_unfinished(call.out, job.out);
            leave_unfinished(call.err, job.err);
            return true;
        }
    }
    if (!call.gathered && (call.out.has_text() || call.err.has_text())) {
        call.gathered = now + gathering;
    }
    auto next = std::min(call.deadline, call.gathered.value_or(call.deadline));
    if (again) {
        next = std::min(next, *again);
    }
    look_soon(call, out_read && err_read ? next : now);
    return false;
}

protocol::JobOutputReply JobCalls::reply_of(Output& call)
{
    const JobView job = find_(call.job_id);
    protocol::JobOutputReply reply;
    reply.state = job.state();
    reply.out = call.out.result(job.out);
    reply.err = call.err.result(job.err);
    if (const auto lines = call.out.unjudged_lines() + call.err.unjudged_lines(); lines > 0) {
        reply.state.notice += (reply.state.notice.empty() ? "" : "\n") + unjudged_notice(lines);
    }
    reply.cursor = JobCursor{call.out.at(), call.err.at()}.to_text();
    return reply;
}

void JobCalls::answer_end(Id id)
{
    const auto found = ends_.find(id);
    if (found == ends_.end()) {
        return;
    }
    const auto call = std::move(found->second);
    ends_.erase(found);
    protocol::JobState state;
    std::exception_ptr error;
    try {
        state = find_(call->job_id).state();
    } catch (...) {
        error = std::current_exception();
    }
    call->done(std::move(state), error);
}

} // namespace berth::guest
