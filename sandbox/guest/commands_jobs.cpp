#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/commands_state.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <utility>

// The jobs of a session, as those see them who ask by their ids.

namespace berth::guest {
namespace {

/// Of jobs that ended and whose outcome was told: each has 16 KiB of output in memory at most.
constexpr std::size_t remembered = 32;
/// Of those whose outcome nobody was told, beside them: so many that nobody knows of, and so many
/// that somebody may ask for.
constexpr std::size_t untold_remembered = 128;
/// Of them in an error.
constexpr std::size_t named = 12;

/// A job's end that nobody asks for keeps no machine from being replaced for longer.
constexpr std::chrono::minutes unread_time{10};

void sort_by_id(std::vector<protocol::JobEntry>& jobs)
{
    std::ranges::sort(jobs, {}, [](const protocol::JobEntry& job) {
        return std::pair(job.job_id.size(), job.job_id);
    });
}

protocol::JobEntry entry_of(const protocol::JobState& state, const Outcome& outcome,
                            std::uint64_t order)
{
    protocol::JobEntry entry;
    entry.job_id = state.job_id;
    entry.command = state.command;
    entry.status = state.running ? "running" : "ended";
    entry.processes = state.processes;
    entry.age = state.age;
    entry.remaining = state.remaining;
    entry.unseen = outcome.unseen().is_set();
    entry.expected = outcome.is_expected(!state.running);
    entry.lent = outcome.unseen().is_lent();
    entry.order = order;
    entry.not_run = state.not_run;
    entry.ended_by = state.ended_by;
    if (state.shell_ended) {
        entry.exit_code = state.exit_code;
        entry.fate = state.fate;
        entry.signal = state.signal;
    }
    return entry;
}

enum class Kind {
    told,
    expected, ///< somebody knows of it, and may ask
    unseen,
};

Kind kind_of(const Outcome& outcome)
{
    return !outcome.unseen().is_known()         ? Kind::unseen
           : outcome.is_expected(/*over=*/true) ? Kind::expected
                                                : Kind::told;
}

void check_signal(int number)
{
    if (number < 1 || number > SIGRTMAX) {
        throw Error(ErrorCode::invalid_argument, std::to_string(number) + " is no signal",
                    "Give one of kill -l, such as TERM, INT or KILL.");
    }
}

/// Of a job of which something runs: one at least, also where a look sees none of what forks and
/// ends without a pause.
std::uint32_t count_running(Command& job)
{
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(job.living().size()));
}

/// By the end of its id, which each machine has of its own.
bool is_of_another_machine(const std::string& job_id, const std::string& machine)
{
    static constexpr std::string_view beginning = "job-";
    const auto end = job_id.rfind('-');
    if (machine.empty() || !job_id.starts_with(beginning) || end <= beginning.size() ||
        end == std::string::npos) {
        return false;
    }
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::all_of(job_id.begin() + beginning.size(),
                       job_id.begin() + static_cast<std::ptrdiff_t>(end), is_digit) &&
           job_id.size() - end - 1 == machine.size() && job_id.substr(end + 1) != machine;
}

} // namespace

std::shared_ptr<Command> Commands::State::find_job(const std::string& job_id) const
{
    const auto found = std::ranges::find_if(commands, [&](const auto& entry) {
        return entry.second->was_job() && entry.second->job_id() == job_id;
    });
    return found == commands.end() ? nullptr : found->second;
}

JobView Commands::State::view_job(const std::string& job_id)
{
    if (const auto command = find_job(job_id)) {
        return {command->out(), command->err(), command->is_job(), command->shell_ended(),
                [command] { return command->job_state(); }};
    }
    const auto found = std::ranges::find_if(
        ended, [&](const EndedJob& job) { return job.state.job_id == job_id; });
    if (found == ended.end()) {
        throw unknown_job(job_id);
    }
    return {found->out, found->err, false, true, [&state = found->state] { return state; }};
}

/// Whether one of this machine had that id, whatever became of it.
bool Commands::State::was_job(const std::string& job_id) const
{
    static constexpr std::string_view beginning = "job-";
    std::uint64_t number = 0;
    if (!job_id.starts_with(beginning)) {
        return false;
    }
    const auto* const end = job_id.data() + job_id.size();
    (void)std::from_chars(job_id.data() + beginning.size(), end, number);
    return number > 0 && number <= last_job && job_id == id_of_job(number);
}

Error Commands::State::unknown_job(const std::string& job_id) const
{
    std::vector<protocol::JobEntry> jobs;
    for (const auto& [id, command] : commands) {
        if (command->was_job()) {
            jobs.push_back(command->job_entry());
        }
    }
    for (const auto& job : ended) {
        jobs.push_back(entry_of(job.state, job.outcome, job.order));
    }
    sort_by_id(jobs);
    std::string list;
    const std::size_t skipped = jobs.size() - std::min(jobs.size(), named);
    for (std::size_t i = skipped; i < jobs.size(); ++i) {
        list += (list.empty() ? "" : ", ") + jobs[i].job_id + " (" + jobs[i].status + ")";
    }
    if (was_job(job_id)) {
        return {ErrorCode::not_found,
                "the job " + job_id + " has ended, and how is remembered no longer",
                "Of those that ended untold the last " + std::to_string(untold_remembered) +
                    " are remembered, of others the last " + std::to_string(remembered) +
                    ". What it did can be seen in the files alone." +
                    (list.empty() ? "" : " The jobs that are remembered: " + list + '.')};
    }
    if (is_of_another_machine(job_id, machine)) {
        return {ErrorCode::not_found,
                "the job " + visible_beginning(job_id, 60) +
                    " is not of the sandbox that this session has now",
                "If it was of an earlier one, it has ended with it at the latest: what it printed "
                "is gone, and what it wrote to files of the home is there." +
                    (list.empty() ? "" : " The jobs of this one are: " + list + '.')};
    }
    return {ErrorCode::not_found,
            "there is no job " + visible_beginning(job_id, 60) + " in this session",
            list.empty()
                ? "No job was started in this sandbox yet: bash_exec with background "
                  "starts one."
                : "The jobs are: " + list +
                      (skipped > 0 ? ", and " + std::to_string(skipped) + " older ones" : "") +
                      ". session_info tells what they run."};
}

std::optional<std::uint64_t> Commands::State::place_within(bool (Command::*counts)()
                                                               const noexcept) const
{
    std::optional<std::chrono::milliseconds> soonest;
    for (const auto& [id, command] : commands) {
        const auto left = ((*command).*counts)() ? command->time_left() : std::nullopt;
        if (left && (!soonest || *left < *soonest)) {
            soonest = left;
        }
    }
    return soonest ? std::optional(static_cast<std::uint64_t>(
                         std::chrono::ceil<std::chrono::seconds>(*soonest).count()))
                   : std::nullopt;
}

namespace {

Error busy_until(const std::optional<std::uint64_t>& seconds, const std::string& what,
                 const std::string& hint)
{
    if (!seconds) {
        return {ErrorCode::busy, what, hint};
    }
    return Error(ErrorCode::busy, what,
                 "One of them ends in " + std::to_string(*seconds) + " s at the latest. " + hint)
        .with_detail("retry_after", std::to_string(*seconds));
}

std::string how_many_run(std::size_t count, const std::string& what)
{
    return std::to_string(count) + ' ' + what +
           (count == 1 ? " of this session is running, and "
                       : "s of this session are running, and ");
}

} // namespace

Error Commands::State::too_many_jobs() const
{
    return busy_until(place_within(&Command::is_job),
                      how_many_run(job_count(), "job") + std::to_string(config.max_jobs) +
                          " may at once (session.jobs)",
                      "Nothing was run. End one with bash_kill (session_info lists them) or wait "
                      "for one with bash_output; the operator can raise session.jobs.");
}

Error Commands::State::too_many_calls(const std::string& why) const
{
    const auto what = how_many_run(call_count(), "command") + std::to_string(config.max_calls) +
                      " may at once (session.calls)";
    const auto hint = "Nothing was run: " + why +
                      " Try again then, or when a call has been answered. What need not be waited "
                      "for may be started with background instead; the operator can raise "
                      "session.calls.";
    const auto latest = place_within(&Command::is_call);
    const auto expected = place_expected();
    if (!expected || (latest && *latest <= *expected)) {
        return busy_until(latest, what, hint);
    }
    return Error(ErrorCode::busy, what,
                 (latest ? "One of them ends in " + std::to_string(*latest) +
                               " s at the latest, and as they have ended of late"
                         : "As they have ended of late") +
                     " there is a place in about " + std::to_string(*expected) + " s. " + hint)
        .with_detail("retry_after", std::to_string(*expected));
}

void Commands::State::remember(EndedJob job)
{
    ended.push_back(std::move(job));
    // Each of its own kind alone: what nobody has seen yet would have one that has just ended, and
    // that whoever began it is about to ask for, forgotten at once.
    const auto drop_beyond = [&](Kind kind, std::size_t most) {
        const auto is_of_kind = [&](const EndedJob& each) { return kind_of(each.outcome) == kind; };
        auto count = static_cast<std::size_t>(std::ranges::count_if(ended, is_of_kind));
        for (; count > most; --count) {
            auto dropped = std::ranges::find_if(ended, is_of_kind);
            if (kind == Kind::unseen) {
                // Of many whose connections end together, that which came here first may be the
                // last.
                dropped = std::ranges::min_element(ended, {}, [&](const EndedJob& each) {
                    return std::pair(!is_of_kind(each), each.order);
                });
            }
            forgotten.add(dropped->outcome);
            ended.erase(dropped);
        }
    };
    drop_beyond(Kind::told, remembered);
    drop_beyond(Kind::expected, untold_remembered);
    drop_beyond(Kind::unseen, untold_remembered);
}

std::string Commands::State::detach(const std::string& id)
{
    if (const auto found = delayed.find(id); found != delayed.end()) {
        found->second.detached = true;
        return {};
    }
    if (const auto job = detach_queued(id)) {
        return *job;
    }
    if (const auto found = commands.find(id); found != commands.end()) {
        found->second->detach();
        serve_queue_soon(); // a job has no place among the calls
        return found->second->job_id();
    }
    if (auto answered = unacknowledged.extract(id)) {
        auto& job = answered.mapped();
        job.state.job_id = host.new_job_id();
        job.out.keep_newest();
        job.err.keep_newest();
        job.outcome.cut_off();
        job.made_by_break = true;
        const auto job_id = job.state.job_id;
        remember(std::move(job));
        host.left_unseen();
        return job_id;
    }
    std::string job_id;
    for (auto& job : ended) {
        if (job.awaited == id) {
            job.outcome.cut_off();
            job_id = job.state.job_id;
            host.left_unseen();
        }
    }
    return job_id;
}

void Commands::State::await_again(const std::string& id)
{
    if (const auto found = commands.find(id); found != commands.end()) {
        found->second->await_again();
        return;
    }
    const auto job = std::ranges::find_if(ended, [&](const EndedJob& each) {
        return each.awaited == id && each.outcome.unseen().is_set();
    });
    if (job == ended.end()) {
        return;
    }
    (void)job->outcome.await_again();
    if (std::exchange(job->made_by_break, false)) {
        auto awaited = std::move(*job);
        ended.erase(job);
        awaited.state.job_id.clear();
        unacknowledged.emplace(id, std::move(awaited));
    }
}

void Commands::State::acknowledge(const std::string& id)
{
    if (const auto found = commands.find(id); found != commands.end()) {
        found->second->acknowledged();
    }
    unacknowledged.erase(id);
    for (auto& job : ended) {
        if (job.awaited == id) {
            job.awaited.clear();
        }
    }
}

protocol::JobInputReply Commands::State::job_input(const protocol::JobInputRequest& request)
{
    const auto command = find_job(request.job_id);
    if (!command || !command->is_job()) {
        (void)view_job(request.job_id); // throws when there was none
        throw Error(Error(ErrorCode::conflict,
                          request.job_id + " has ended: nothing reads its input",
                          "bash_output tells how it ended and what it printed.")
                        .set_retryable(false));
    }
    protocol::JobInputReply reply;
    command->feed(request.input, request.close);
    reply.taken = request.input.size();
    reply.waiting = command->waiting_input();
    reply.state = command->job_state();
    return reply;
}

Commands::Waiting Commands::State::job_kill(const protocol::JobKillRequest& request,
                                            Commands::KillDone done)
{
    check_signal(request.signal);
    const JobView job = view_job(request.job_id);
    const auto command = find_job(request.job_id);
    protocol::JobKillReply reply;
    const bool ends = request.signal == SIGTERM || request.signal == SIGKILL;
    if (command && !job.running && command->survivors() > 0 && !command->is_stopping() && ends) {
        reply.signalled = count_running(*command);
        command->stop_again([command = command.get(), done = std::move(done), reply]() mutable {
            reply.state = command->job_state();
            done(std::move(reply), nullptr);
        });
        return 0;
    }
    if (!job.running || !command) {
        reply.state = job.state();
        host.loop.post([done = std::move(done), reply]() { done(reply, nullptr); });
        return 0;
    }
    if (!ends) {
        reply.signalled = command->signal_all(request.signal);
        reply.state = command->job_state();
        host.loop.post([done = std::move(done), reply]() { done(reply, nullptr); });
        return 0;
    }
    reply.signalled = count_running(*command);
    const auto grace = std::chrono::milliseconds(
        request.signal == SIGKILL ? 0 : std::min<std::uint64_t>(request.grace, 60'000));
    command->end_softly(grace);
    return job_calls.end(request.job_id,
                         [done = std::move(done), reply](protocol::JobState state,
                                                         const std::exception_ptr& error) mutable {
                             reply.state = std::move(state);
                             done(std::move(reply), error);
                         });
}

Commands::Waiting Commands::job_output(const protocol::JobOutputRequest& request,
                                       JobCalls::OutputDone done, const Asker& asker)
{
    const auto call = state_->job_calls.output(
        request,
        [this, acknowledge = request.acknowledge,
         done = std::move(done)](protocol::JobOutputReply reply, std::exception_ptr error) {
            if (!error) {
                reply.acknowledge = state_->tells_end(reply.state, acknowledge);
            }
            done(std::move(reply), std::move(error));
        },
        asker.name);
    state_->seen(request.job_id, asker.server);
    return call;
}

protocol::JobInputReply Commands::job_input(const protocol::JobInputRequest& request,
                                            const Asker& asker)
{
    auto reply = state_->job_input(request);
    state_->seen(request.job_id, asker.server);
    return reply;
}

Commands::Waiting Commands::job_kill(const protocol::JobKillRequest& request, KillDone done,
                                     const Asker& asker)
{
    const auto call =
        state_->job_kill(request, [this, acknowledge = request.acknowledge, done = std::move(done)](
                                      protocol::JobKillReply reply, std::exception_ptr error) {
            if (!error) {
                reply.acknowledge = state_->tells_end(reply.state, acknowledge);
            }
            done(std::move(reply), std::move(error));
        });
    state_->seen(request.job_id, asker.server);
    return call;
}

void Commands::drop(Waiting call)
{
    state_->job_calls.drop(call);
}

std::vector<protocol::JobEntry> Commands::jobs() const
{
    std::vector<protocol::JobEntry> result;
    for (const auto& [id, command] : state_->commands) {
        if (command->is_job()) {
            result.push_back(command->job_entry());
        }
    }
    sort_by_id(result);
    return result;
}

std::vector<protocol::JobEntry> Commands::ended_jobs() const
{
    std::vector<protocol::JobEntry> result;
    for (const auto& [id, command] : state_->commands) {
        if (command->was_job() && !command->is_job()) {
            result.push_back(command->job_entry());
            result.back().unread = !command->outcome().is_read();
        }
    }
    for (const auto& job : state_->ended) {
        result.push_back(entry_of(job.state, job.outcome, job.order));
        result.back().unread =
            !job.outcome.is_read() && BootClock::now() - job.ended_at < unread_time;
    }
    sort_by_id(result);
    return result;
}

} // namespace berth::guest
