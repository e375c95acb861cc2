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
/// Who waits with a filter is not answered with more of the same unfinished line before.
constexpr std::chrono::milliseconds between_matches{1000};
/// For a filter, beyond the time that its call waits: then the answer is what it got through.
constexpr std::chrono::milliseconds judging_time{10'000};

} // namespace

struct JobCalls::Output : std::enable_shared_from_this<Output> {
    Output(const protocol::JobOutputRequest& request, const JobCursor& cursor, std::string who)
        : job_id(request.job_id), asker(std::move(who)), begin(cursor),
          reading(std::make_shared<JobReading>(request, cursor)),
          deadline(came +
                   std::chrono::milliseconds(std::min<std::uint64_t>(request.wait, 3'600'000)))
    {
    }

    std::string job_id;
    std::string asker;
    JobCursor begin;
    std::shared_ptr<JobReading> reading; ///< a worker's too, while it judges
    bool judging = false;
    BootClock::time_point came = BootClock::now();
    BootClock::time_point deadline;
    std::optional<BootClock::time_point> gathered; ///< there is something to show: until then
    /// Where the answer ends, once it is due: what a job prints meanwhile could go on for ever.
    std::optional<JobCursor> last;
    BootClock::time_point give_up; ///< with `last`
    bool shell_had_ended = false;  ///< when the call came
    OutputDone done;
    EventLoop::TimerId timer = 0;
    BootClock::time_point next; ///< when the timer fires
    Id id = 0;
};

struct JobCalls::End {
    std::string job_id;
    EndDone done;
};

JobCalls::JobCalls(EventLoop& loop, Workers& workers, Find find)
    : loop_(loop), workers_(workers), find_(std::move(find))
{
}

JobCalls::~JobCalls()
{
    for (const auto& [id, call] : outputs_) {
        loop_.cancel(call->timer);
        call->reading->stop();
    }
}

JobCalls::Id JobCalls::output(const protocol::JobOutputRequest& request, OutputDone done,
                              std::string asker)
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
    auto call = std::make_shared<Output>(request, cursor, std::move(asker));
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
        found->second->reading->stop();
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
    if (call.judging) {
        return; // it is looked at once that is done
    }
    protocol::JobOutputReply reply;
    std::exception_ptr error;
    try {
        if (!advance(call)) {
            return;
        }
        reply = reply_of(call);
    } catch (...) {
        error = std::current_exception(); // it may have been forgotten meanwhile
    }
    const auto done = std::move(call.done);
    loop_.cancel(call.timer); // one may have been set while it was judged
    outputs_.erase(id);
    done(std::move(reply), error);
}

bool JobCalls::advance(Output& call)
{
    const JobView job = find_(call.job_id);
    const auto now = BootClock::now();
    const JobCursor at = call.reading->at();
    const Readable out = readable(job.out, at.out, {call.begin.out, call.came}, now);
    const Readable err = readable(job.err, at.err, {call.begin.err, call.came}, now);
    const bool due = !job.running || now >= call.deadline ||
                     (job.shell_ended && !call.shell_had_ended) ||
                     (call.gathered && now >= *call.gathered);
    if (due && !call.last) {
        call.last = {out.end, err.end};
        call.give_up = now + judging_time;
    }
    const auto state =
        call.reading->read_on(job.out, job.err, call.last.value_or(JobCursor{out.end, err.end}));
    if (call.last && (state == JobReading::State::through ||
                      (state == JobReading::State::fetched && now >= call.give_up))) {
        return true;
    }
    auto next = call.deadline;
    if (!call.gathered && has_news(call, out.news || err.news, now, next)) {
        call.gathered = now + gathering;
    }
    next = std::min(
        {next, call.gathered.value_or(next), out.again.value_or(next), err.again.value_or(next)});
    if (state == JobReading::State::fetched) {
        judge(call);
    } else {
        look_soon(call, state == JobReading::State::through ? next : now);
    }
    return false;
}

/// Whether there is something to answer with. `next`: no later than then is to be looked again.
bool JobCalls::has_news(const Output& call, bool readable_news, BootClock::time_point now,
                        BootClock::time_point& next)
{
    if (!call.reading->has_filter()) {
        return readable_news;
    }
    if (!call.reading->has_text() || readable_news) {
        return call.reading->has_text();
    }
    next = std::min(next, call.came + between_matches);
    return now >= call.came + between_matches;
}

/// On a worker, as it may take long, and comes back.
void JobCalls::judge(Output& call)
{
    workers_.run(
        [this, reading = call.reading, back = std::weak_ptr(call.shared_from_this()),
         &loop = loop_] {
            reading->judge();
            // Without a call there may be no JobCalls any more.
            loop.post([this, back] {
                if (const auto judged = back.lock()) {
                    judged->judging = false;
                    look(judged->id);
                }
            });
        },
        Workers::Kind::filter, call.asker);
    call.judging = true;
}

protocol::JobOutputReply JobCalls::reply_of(Output& call)
{
    const JobView job = find_(call.job_id);
    protocol::JobOutputReply reply;
    reply.state = job.state();
    call.reading->put_into(reply, job.out, job.err, *call.last);
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
