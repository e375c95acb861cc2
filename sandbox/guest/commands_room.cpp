#include "sandbox/guest/commands_state.hpp"
#include "sandbox/guest/errors.hpp"
#include "sandbox/guest/exec/process_tree.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

// What a session does that has no process left for a command: a fork bomb left running in the
// background would otherwise keep it from running anything ever again, the `kill` that ends the
// bomb included.

namespace berth::guest {
namespace {

constexpr std::chrono::milliseconds look_again{5};
constexpr std::chrono::milliseconds between_tries{20};
constexpr std::chrono::seconds patience{1};
/// A command that is larger than that, with its input, has one try.
constexpr std::size_t kept_for_another = 256UL * 1024;

bool is_kept(const protocol::ExecuteRequest& request)
{
    return request.command.size() + (request.input ? request.input->size() : 0) <= kept_for_another;
}

std::shared_ptr<Command> greediest(const std::vector<std::shared_ptr<Command>>& commands,
                                   std::size_t& processes)
{
    std::shared_ptr<Command> found;
    for (const auto& command : commands) {
        const std::size_t count = command->is_job() ? command->living().size() : 0;
        if (count > processes) {
            processes = count;
            found = command;
        }
    }
    return found;
}

bool is_out_of_processes(const std::exception_ptr& error)
{
    try {
        if (error) {
            std::rethrow_exception(error);
        }
        return false;
    } catch (const OutOfProcesses&) {
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace

Commands::Done Commands::State::with_room(const Delayed& command,
                                          std::optional<BootClock::time_point> give_up)
{
    if (!is_kept(command.request)) {
        return command.done;
    }
    return [this, command, give_up](protocol::ExecuteReply reply, std::exception_ptr error) {
        if (is_out_of_processes(error) && find_room(command, give_up)) {
            return;
        }
        command.done(std::move(reply), std::move(error));
    };
}

bool Commands::State::find_room(const Delayed& command,
                                std::optional<BootClock::time_point> give_up)
{
    if (!give_up && make_room(command)) {
        return true;
    }
    // What has ended counts until it is reaped, and that is soon: what a stopped storm leaves must
    // not be told as the state of the session.
    const auto now = BootClock::now();
    const auto until = give_up.value_or(now + patience);
    if (now >= until || !is_kept(command.request)) {
        return false;
    }
    const std::string& id = command.request.id;
    delayed.insert_or_assign(id, command);
    (void)host.loop.call_at(now + between_tries, [this, id, until] { start_delayed(id, until); });
    return true;
}

bool Commands::State::is_crowded() const
{
    constexpr std::uint64_t reserve = 4; // a shim, its shell, and a pipeline of two
    const std::uint64_t limit = config.limit_nproc != 0 ? config.limit_nproc : config.limit_pids;
    return limit != 0 && job_count() != 0 && all_processes().size() + reserve > limit;
}

bool Commands::State::make_room(const Delayed& command)
{
    std::size_t processes = 0;
    const auto job = greediest(all(), processes);
    // One among many is not to blame. Of one whose end somebody waits for already, that one would
    // wait for ever.
    if (!job || !job->is_at_work() || processes < all_processes().size() / 2) {
        return false;
    }
    const auto entry = job->job_entry();
    const std::string id = command.request.id;
    auto next = command;
    next.notice = entry.job_id + " (" + entry.command + ") had " + std::to_string(processes) +
                  " processes, and none was left for this command: it was stopped";
    delayed.insert_or_assign(id, std::move(next));
    job->end_job([this, id] { start_delayed(id, BootClock::now() + patience); });
    return true;
}

void Commands::State::start_delayed(const std::string& id, BootClock::time_point give_up)
{
    const auto found = delayed.find(id);
    if (found == delayed.end()) {
        return;
    }
    const auto now = BootClock::now();
    const bool has_try = commands.contains(id); // the one before, which is not reaped yet
    if (has_try && now < give_up + patience) {
        (void)host.loop.call_at(now + look_again,
                                [this, id, give_up] { start_delayed(id, give_up); });
        return;
    }
    const Delayed next = std::move(found->second);
    delayed.erase(found);
    if (has_try) {
        // Never two of one id: nobody would hear of the second one's end. The shim of the first may
        // be without a processor for so long, beside the storm that has left it without a process.
        (void)refuse(next, std::make_exception_ptr(OutOfProcesses()));
        return;
    }
    try {
        launch(next, with_room(next, give_up));
    } catch (const OutOfProcesses&) {
        if (!find_room(next, give_up)) {
            (void)refuse(next, std::current_exception());
        }
        return;
    } catch (...) {
        (void)refuse(next, std::current_exception());
        return;
    }
    if (next.detached) {
        commands.at(id)->detach();
    }
}

std::string Commands::State::refuse(const Delayed& command, const std::exception_ptr& error)
{
    if (!command.detached) {
        command.done({}, error);
        return {};
    }
    const auto nothing = [this](const char* name) {
        OutputStream stream(UniqueFd(), 0, 0, spill, name);
        stream.keep_newest();
        return stream;
    };
    EndedJob job{{},    nothing("stdout"), nothing("stderr"), {}, command.request.id,
                 false, command.order};
    job.state.job_id = host.new_job_id();
    job.state.command = shown_beginning(command.request.command);
    job.state.shell_ended = true;
    job.state.fate = protocol::Fate::lost;
    job.state.exit_code = -1;
    job.state.not_run = true;
    job.state.notice = message_of(error);
    job.outcome.cut_off();
    auto job_id = job.state.job_id;
    remember(std::move(job));
    host.left_unseen();
    return job_id;
}

Commands::Asked Commands::asked(const protocol::ExecuteRequest& request) const
{
    return {request.id, shown_beginning(request.command), state_->last_order + 1};
}

void Commands::note_not_run(const Asked& asked, const std::exception_ptr& error)
{
    State::Delayed command{.request = {}, .done = {}, .order = asked.order};
    command.request.id = asked.id;
    command.request.command = asked.command;
    command.detached = true;
    (void)state_->refuse(command, error);
}

bool Commands::State::cancel_delayed(const std::string& id)
{
    Done done;
    if (auto queued = take_queued(id)) {
        done = std::move(queued->done);
    } else if (auto found = delayed.extract(id)) {
        done = std::move(found.mapped().done);
    } else {
        return false;
    }
    protocol::ExecuteReply reply;
    reply.fate = protocol::Fate::cancelled;
    reply.exit_code = -1;
    reply.cwd = host.session.cwd();
    done(std::move(reply), nullptr);
    return true;
}

} // namespace berth::guest
