#include "sandbox/base/error.hpp"
#include "sandbox/guest/exec/command.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <sys/wait.h>

// What a command's end means, in the words of the reply.

namespace berth::guest {
namespace {

Error start_error(const ShimReport& report, const std::string& shell)
{
    const int error = report.error;
    switch (report.step) {
    case ShimStep::fork:
        return {ErrorCode::busy,
                "no process for the command: " + std::generic_category().message(error),
                "Wait for other commands to end, or stop some."};
    case ShimStep::exec:
        if (error == E2BIG) {
            return {ErrorCode::too_large, "the environment is too large for one command",
                    "Put large values in a file."};
        }
        return errno_error(error, "start " + shell);
    case ShimStep::input:
        return errno_error(error, "hand the command its input");
    case ShimStep::cgroup:
        return errno_error(error, "put the command into its cgroup");
    case ShimStep::none:
    case ShimStep::workdir:
        break;
    }
    return errno_error(error, "start the command");
}

Error workdir_error(int error, const std::string& workdir)
{
    const std::string hint = "Give a directory that exists in the sandbox.";
    if (error == ENOTDIR) {
        return {ErrorCode::invalid_path, workdir + " is not a directory", hint};
    }
    return errno_error(error, "workdir " + workdir, hint);
}

} // namespace

void Command::start_failed(const ShimReport& report)
{
    if (failed_) {
        return;
    }
    failed_ = true;
    const Done done = std::exchange(done_, nullptr);
    const Error error = report.step == ShimStep::workdir ? workdir_error(report.error, workdir_)
                                                         : start_error(report, "the shell");
    const auto self = shared_from_this();
    settle();
    if (done) {
        done({}, std::make_exception_ptr(error));
    }
}

void Command::fill_fate()
{
    using protocol::Fate;
    if (stop_reason_ == StopReason::timed_out || stop_reason_ == StopReason::cancelled || !end_) {
        reply_.fate = stop_reason_ == StopReason::timed_out   ? Fate::timed_out
                      : stop_reason_ == StopReason::cancelled ? Fate::cancelled
                                                              : Fate::lost;
        reply_.exit_code = -1;
        return;
    }
    const int status = end_->status;
    if (WIFSIGNALED(status)) {
        reply_.fate = Fate::signaled;
        reply_.signal = WTERMSIG(status);
        reply_.exit_code = 128 + reply_.signal;
    } else {
        reply_.fate = Fate::exited;
        reply_.exit_code = WEXITSTATUS(status);
    }
    // The shell itself is rarely the largest: mostly it lives to say that what it ran was killed.
    if (reply_.exit_code == 128 + SIGKILL && oom_kills(host_.config.oom_events_fd) > oom_kills_) {
        reply_.fate = Fate::oom_killed;
        reply_.signal = SIGKILL;
    }
}

void Command::fill_usage()
{
    if (tree_.cgroup()) {
        const auto usage = tree_.cgroup()->usage();
        // Without the memory controller the shell's figures are the better ones, if there are any.
        if (usage.cpu_time && (usage.peak_memory || !end_ || !end_->cpu_time)) {
            reply_.peak_memory = usage.peak_memory.value_or(0);
            reply_.cpu_time = *usage.cpu_time;
            reply_.usage_scope = "cgroup";
            return;
        }
    }
    if (end_ && end_->cpu_time) {
        reply_.peak_memory = end_->peak_memory.value_or(0);
        reply_.cpu_time = *end_->cpu_time;
        reply_.usage_scope = "process";
    }
}

void Command::move_session()
{
    if (moves_session_ && reply_.fate == protocol::Fate::exited && end_->moved) {
        if (end_->cwd) {
            // Only where the command moved: one that began elsewhere and stayed there must not undo
            // the `cd` of another that ran beside it.
            host_.session.set_cwd(*end_->cwd);
        } else {
            add_notice("the working directory was deleted; the next command starts in " +
                       host_.config.home);
            host_.session.set_cwd(host_.config.home);
        }
        reply_.cwd_changed = true;
    }
    reply_.cwd = host_.session.cwd();
}

void Command::add_notice(const std::string& text)
{
    reply_.notice += (reply_.notice.empty() ? "" : "\n") + text;
}

} // namespace berth::guest
