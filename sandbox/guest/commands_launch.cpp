#include "sandbox/base/error.hpp"
#include "sandbox/guest/commands_state.hpp"
#include "sandbox/guest/wiping.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/epoll.h>

// How a command begins: its pipes, its cgroup, its shim.

namespace berth::guest {
namespace {

/// Whether the kernel will refuse every other command the same way.
bool is_final(int error)
{
    return error == EACCES || error == EPERM || error == EROFS || error == EOPNOTSUPP ||
           error == ENOSYS || error == EINVAL || error == E2BIG || error == ENODEV ||
           error == EBADF || error == ENOTDIR;
}

/// Not run outside of the limits instead: the operator counts on them, and the guest's own cgroup,
/// in which it would run, is no place for what may use up memory.
Error limits_error(const std::string& why)
{
    return {ErrorCode::sandbox_unavailable,
            "the command was not started: it cannot enter the cgroup of its limits: " + why,
            "`berth doctor` shows what this host allows; end the session to have a new machine"};
}

Error spawn_error(const std::system_error& error)
{
    const int number = error.code().value();
    if (number == EMFILE || number == ENFILE || number == ENOMEM) {
        return {ErrorCode::busy, std::string("the command cannot be started: ") + error.what(),
                "Wait for other commands to end, or stop some."};
    }
    return {ErrorCode::internal, std::string("the command cannot be started: ") + error.what(),
            "Nothing of it was run: try again. If that does not help, end the session to have a "
            "new machine."};
}

std::string too_large_home(std::uint64_t file_limit)
{
    return "the home has more than session.quota allows, so this command writes no file, in /tmp "
           "neither, beyond " +
           std::to_string(file_limit / 1024) +
           " KiB (\"File size limit exceeded\"): make room first. `ulimit -S -f unlimited` lifts "
           "that for the rest of the command";
}

/// The pipes of a command are watched before it runs: epoll may refuse (every process of the same
/// uid counts against max_user_watches), and a command that was refused must not have run.
class EarlyWatches {
  public:
    EarlyWatches(EventLoop& loop, const CommandPipes& pipes)
        : loop_(loop),
          fds_{pipes.report.read.get(), pipes.output.read.get(), pipes.error.read.get()}
    {
        try {
            for (const int fd : fds_) {
                loop_.watch(fd, EPOLLIN, [](std::uint32_t) {});
            }
        } catch (const std::system_error&) {
            end();
            throw;
        }
    }

    ~EarlyWatches()
    {
        if (!released_) {
            end();
        }
    }

    EarlyWatches(const EarlyWatches&) = delete;
    EarlyWatches& operator=(const EarlyWatches&) = delete;

    /// They are the command's now.
    void release() noexcept { released_ = true; }

  private:
    void end() noexcept
    {
        for (const int fd : fds_) {
            loop_.unwatch(fd);
        }
    }

    EventLoop& loop_;
    std::array<int, 3> fds_;
    bool released_ = false;
};

} // namespace

void Commands::State::launch(const Delayed& asked, Done done)
{
    const auto& request = asked.request;
    if (!request.background) {
        done = [this, answer = std::move(done)](protocol::ExecuteReply reply,
                                                std::exception_ptr error) {
            answer(std::move(reply), std::move(error));
            call_ended();
        };
    }
    std::string notice = asked.notice;
    remove_cgroups();
    const std::string workdir = absolute_workdir(request, host.session.cwd(), config.home);
    const LimitCounts limits_before = limit_counts(config);
    if (!shell.is_bash) {
        notice += (notice.empty() ? "" : "\n") + ("there is no bash here: " + shell.path) +
                  " ran the command";
    }
    try {
        CommandPipes pipes(request.stdin_open);
        EarlyWatches watches(host.loop, pipes);
        auto cgroup = make_cgroup(request.id);
        const auto file_limit = quota_watch ? quota_watch->file_limit() : 0;
        if (file_limit != 0) {
            notice += (notice.empty() ? "" : "\n") + too_large_home(file_limit);
        }
        wipe_stack(); // of how the request was read, which the shim would have a copy of
        const pid_t shim = spawn_command(
            {request, config, environment, shell, workdir, -1, file_limit}, pipes, cgroup);
        wipe_stack();
        const auto command = std::make_shared<Command>(
            host, request, asked.order, workdir, std::move(notice), shim, std::move(pipes),
            std::move(cgroup), limits_before, std::move(done));
        for (const auto& [id, other] : commands) {
            if (other->is_call() || other->is_job()) { // one that is told has its shim to reap
                other->has_company();
                command->has_company();
            }
        }
        command->outcome().set_keeper(asked.keeper);
        commands.emplace(request.id, command);
        command->watch();
        watches.release();
        if (quota_watch) {
            quota_watch->began();
        }
        if (asked.began) {
            asked.began();
        }
    } catch (const std::system_error& error) {
        throw spawn_error(error);
    }
}

std::optional<CommandCgroup> Commands::State::make_cgroup(const std::string& id)
{
    if (!cgroups) {
        return std::nullopt;
    }
    try {
        return CommandCgroup(config.commands_cgroup_fd, id);
    } catch (const std::system_error& error) {
        if (config.limits_by_cgroup) {
            throw limits_error(error.what());
        }
        cgroups = !is_final(error.code().value());
        return std::nullopt;
    }
}

pid_t Commands::State::spawn_command(SpawnOptions options, const CommandPipes& pipes,
                                     std::optional<CommandCgroup>& cgroup)
{
    const OomScore::Raised raised(oom_score);
    const auto try_it = [&] {
        try {
            return spawn(options, pipes);
        } catch (const std::system_error& error) {
            if (error.code().value() == EAGAIN) {
                throw OutOfProcesses();
            }
            throw;
        }
    };
    if (cgroup) {
        try {
            options.cgroup_fd = cgroup->fd();
            return try_it();
        } catch (const OutOfProcesses&) {
            (void)cgroup->remove();
            throw;
        } catch (const std::system_error& error) {
            (void)cgroup->remove();
            cgroup.reset();
            if (!is_final(error.code().value())) {
                throw;
            }
            if (config.limits_by_cgroup) {
                throw limits_error(error.what());
            }
            // May not enter it: commands are then told apart by their shims, and layers() says so.
            cgroups = false;
            options.cgroup_fd = -1;
        }
    }
    return try_it();
}

} // namespace berth::guest
