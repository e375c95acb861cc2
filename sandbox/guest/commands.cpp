#include "sandbox/guest/commands.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/commands_state.hpp"
#include "sandbox/guest/exec/process_tree.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// Of a command's output in one event.
constexpr std::size_t told_at_most = 4096;

} // namespace

Commands::State::State(EventLoop& loop, Workers& workers, protocol::GuestConfig config_,
                       SessionState& session, OomScore oom_score_, ShellProgram shell_,
                       std::string machine_)
    : config(std::move(config_)), environment(std::exchange(config.environment, {})),
      oom_score(std::move(oom_score_)), shell(std::move(shell_)), machine(std::move(machine_)),
      spill(config.spill_directory, config.spill_stream_limit, config.spill_session_limit),
      denials(loop, UniqueFd(config.denials_fd)),
      host{loop,
           config,
           session,
           spill,
           clock,
           [this] { return config.max_jobs != 0 && job_count() >= config.max_jobs; },
           [this] { return id_of_job(++last_job); },
           [this](const Command& asking, const std::vector<ProcessStat>& all) {
               return unowned_children(asking, all);
           },
           [this](Command& command) { drop(command); },
           [this](const Command& command) { news.printed(command.id()); },
           [this](const Command& command) {
               job_calls.changed(command.job_id(), command.is_job());
               if (!command.is_job() && job_ended) {
                   job_ended();
               }
           },
           [this] {
               if (left_unseen) {
                   left_unseen();
               }
           },
           denials},
      news(loop, [this](const std::string& id) { return newest_output(id); }),
      cgroups(config.commands_cgroup_fd >= 0),
      job_calls(loop, workers, [this](const std::string& job_id) { return view_job(job_id); }),
      reaper(
          loop, [this](pid_t pid, int status, const rusage& usage) { reaped(pid, status, usage); },
          [this](pid_t pid) { stopped(pid); })
{
    commands.reserve(8); // while the heap is small: later it would be behind what a command needs
}

std::string Commands::State::id_of_job(std::uint64_t number) const
{
    return "job-" + std::to_string(number) + (machine.empty() ? "" : "-" + machine);
}

void Commands::State::start(const protocol::ExecuteRequest& request, const Done& done,
                            const Waiter& waiter)
{
    validate(request);
    if (commands.contains(request.id) || delayed.contains(request.id) ||
        unacknowledged.contains(request.id) || is_queued(request.id)) {
        throw Error(ErrorCode::invalid_argument, "command " + request.id + " exists already",
                    "Each command needs an id of its own.");
    }
    if (request.background) {
        if (config.max_jobs != 0 && job_count() >= config.max_jobs) {
            throw too_many_jobs();
        }
    }
    Delayed command{request, done, ++last_order};
    command.began = waiter.began;
    command.keeper = waiter.server;
    if (request.background) {
        begin(command);
        return;
    }
    serve_queue(); // whoever waits is first
    if (!has_place() || !queue.empty()) {
        queue_up(std::move(command), waiter.asker);
    } else {
        askers.took_turn(*askers.find(waiter.asker));
        begin(command);
    }
}

void Commands::State::begin(const Delayed& command)
{
    if (is_crowded() && make_room(command)) {
        return;
    }
    try {
        launch(command, with_room(command));
    } catch (const OutOfProcesses&) {
        if (!find_room(command)) {
            throw;
        }
    }
}

/// A copy: a command that is gone leaves the map while it is looked at.
std::vector<std::shared_ptr<Command>> Commands::State::all() const
{
    std::vector<std::shared_ptr<Command>> result;
    result.reserve(commands.size());
    for (const auto& [id, command] : commands) {
        result.push_back(command);
    }
    return result;
}

void Commands::State::reaped(pid_t pid, int status, const rusage& usage)
{
    auto candidates = all();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !is_shim(pid)) {
        // A shim that was killed, or what its end has made a child of the guest: whose it is, yet
        // unread reports may say. One kill(1) can end several shims.
        for (const auto& command : candidates) {
            command->read_reports();
        }
    }
    // Each is asked: a command that took the shell of another for its orphan has to forget it, and
    // the one whose shell it is has to learn of the end first.
    std::ranges::partition(candidates,
                           [&](const auto& command) { return command->shell() == pid; });
    for (const auto& command : candidates) {
        command->reaped(pid, status, usage);
    }
}

/// A shim has nothing to stop for. Left so, by whichever command of the session, it would not tell
/// of its command's end, and the call would look as if it had run into its timeout.
void Commands::State::stopped(pid_t pid) const
{
    if (is_shim(pid)) {
        ::kill(pid, SIGCONT); // not reaped, so the pid is still the shim's
    }
}

bool Commands::State::is_shim(pid_t pid) const
{
    return std::ranges::any_of(commands, [&](const auto& entry) {
        const CommandTree& tree = entry.second->tree();
        return tree.shim() == pid && !tree.shim_gone(); // else the number is another's by now
    });
}

void Commands::State::drop(Command& command)
{
    if (command.was_job() || command.is_awaited()) {
        EndedJob job{command.job_state(),
                     command.release_out(),
                     command.release_err(),
                     command.outcome(),
                     command.is_awaited() || command.outcome().unseen().is_set() ? command.id()
                                                                                 : "",
                     command.is_made_by_break(),
                     command.order()};
        if (command.was_job()) {
            remember(std::move(job));
        } else {
            unacknowledged.emplace(command.id(), std::move(job));
        }
    }
    if (!command.tree().remove_cgroup()) {
        emptied.push_back(command.tree().release_cgroup());
    }
    commands.erase(command.id());
    serve_queue_soon();
}

void Commands::State::remove_cgroups()
{
    std::erase_if(emptied, [](CommandCgroup& cgroup) { return cgroup.remove(); });
}

std::vector<pid_t> Commands::State::unowned_children(const Command& asking,
                                                     const std::vector<ProcessStat>& all) const
{
    // Each shell leads a session of its own, which tells its processes apart from those of another
    // whose shim was killed at the same moment.
    const auto is_of_session = [](const Command& command, const ProcessStat& process) {
        return command.shell() > 0 &&
               (process.pid == command.shell() || process.session == command.shell());
    };
    std::vector<pid_t> result;
    bool strangers = false; // that went to a session of their own
    const pid_t self = ::getpid();
    for (const auto& process : all) {
        const auto owned = [&](const auto& entry) {
            const CommandTree& tree = entry.second->tree();
            return tree.shim() == process.pid || tree.owns(process.pid) ||
                   (!is_of_session(asking, process) && is_of_session(*entry.second, process));
        };
        if (process.parent == self && std::ranges::none_of(commands, owned)) {
            result.push_back(process.pid);
            strangers = strangers || (process.alive() && !is_of_session(asking, process));
        }
    }
    if (strangers) {
        dispute_orphans();
    }
    return result;
}

void Commands::State::dispute_orphans() const
{
    std::vector<CommandTree*> heirs;
    for (const auto& [id, command] : commands) {
        if (command->tree().may_have_orphans()) {
            heirs.push_back(&command->tree());
        }
    }
    if (heirs.size() > 1) {
        std::ranges::for_each(heirs, [](CommandTree* tree) { tree->set_disputed(); });
    }
}

std::size_t Commands::State::job_count() const
{
    return static_cast<std::size_t>(
        std::ranges::count_if(commands, [](const auto& entry) { return entry.second->is_job(); }));
}

std::size_t Commands::State::call_count() const
{
    return static_cast<std::size_t>(
        std::ranges::count_if(commands, [](const auto& entry) { return entry.second->is_call(); }));
}

protocol::PrintedTail Commands::State::newest_output(const std::string& id) const
{
    const auto found = commands.find(id);
    if (found == commands.end()) {
        return {};
    }
    const Command& command = *found->second;
    const bool error_last = command.err().last_data() > command.out().last_data();
    return (error_last ? command.err() : command.out()).newest(told_at_most);
}

Commands::Commands(EventLoop& loop, Workers& workers, protocol::GuestConfig config,
                   SessionState& session, OomScore oom_score, ShellProgram shell,
                   std::string machine)
    : state_(std::make_unique<State>(loop, workers, std::move(config), session,
                                     std::move(oom_score), std::move(shell), std::move(machine)))
{
}

Commands::~Commands()
{
    for (const auto& [id, command] : state_->commands) {
        command->destroy();
    }
    while (!state_->queue.empty()) {
        state_->host.loop.cancel(state_->queue.pop(state_->askers).timer);
    }
    state_->remove_cgroups();
}

void Commands::start(const protocol::ExecuteRequest& request, const Done& done,
                     const Waiter& waiter)
{
    state_->start(request, done, waiter);
}

void Commands::wait_for_places(std::chrono::milliseconds patience) noexcept
{
    state_->queue_patience = patience;
}

void Commands::cancel(const std::string& id)
{
    if (state_->cancel_delayed(id)) {
        return;
    }
    const auto found = state_->commands.find(id);
    if (found != state_->commands.end()) {
        found->second->cancel();
    }
}

std::string Commands::detach(const std::string& id)
{
    return state_->detach(id);
}

void Commands::await_again(const std::string& id)
{
    state_->await_again(id);
}

void Commands::acknowledge(const std::string& id)
{
    state_->acknowledge(id);
}

std::shared_ptr<void> Commands::tell_output(const std::string& id, std::chrono::milliseconds apart,
                                            OutputNews::Tell tell)
{
    const auto job = state_->find_job(id);
    auto& news = state_->news;
    const auto listener = news.add(job ? job->id() : id, apart, std::move(tell));
    return {nullptr, [&news, listener](void*) { news.drop(listener); }};
}

std::size_t Commands::running() const noexcept
{
    return state_->call_count();
}

void Commands::change_limits(protocol::Terms& wanted)
{
    auto& config = state_->config;
    config.max_calls = wanted.calls.value_or(config.max_calls);
    config.max_jobs = wanted.jobs.value_or(config.max_jobs);
    state_->serve_queue_soon();
    config.limit_nofile = wanted.nofile.value_or(config.limit_nofile);
    if (!wanted.environment.empty()) {
        state_->environment = Environment(wanted.environment);
    }
    if (wanted.pids && config.limit_nproc == 0) {
        // The cgroup's, which whoever asks has changed already.
        config.limit_pids = *wanted.pids;
        wanted.pids.reset();
    } else if (wanted.pids && *wanted.pids >= all_processes().size()) {
        config.limit_nproc = *wanted.pids;
    } else {
        // Below what runs no command could start, and a job would be ended to make room for one.
        wanted.pids.reset();
    }
}

void Commands::forget_readings() noexcept
{
    if (std::exchange(state_->order_at_rest, state_->last_order) != state_->last_order) {
        forget_limit_counts(state_->config);
    }
}

std::optional<std::uint64_t> Commands::open_files() const noexcept
{
    rlimit own{};
    if (::getrlimit(RLIMIT_NOFILE, &own) != 0) {
        return std::nullopt;
    }
    const std::uint64_t wanted = state_->config.limit_nofile;
    return wanted == 0 ? own.rlim_max : std::min<std::uint64_t>(own.rlim_max, wanted);
}

std::vector<std::string> Commands::layers() const
{
    std::vector<std::string> result{state_->cgroups ? "cgroup-kill" : "subreaper"};
    if (!state_->cgroups && state_->config.commands_cgroup_fd >= 0) {
        result.emplace_back("cgroup-refused");
    }
    if (!state_->config.v1_tasks_fds.empty()) {
        result.emplace_back("cgroup-v1");
    }
    const auto& config = state_->config;
    if (config.limit_nofile != 0 || config.limit_nproc != 0 || config.limit_fsize != 0) {
        result.emplace_back("rlimits");
    }
    return result;
}

} // namespace berth::guest
