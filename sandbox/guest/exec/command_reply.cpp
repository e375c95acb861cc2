#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/errors.hpp"
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

constexpr const char* new_machine = "End the session to have a new machine.";

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
        return errno_error(error, "start " + shell,
                           std::string("The shell of the sandbox must be there and executable. ") +
                               new_machine);
    case ShimStep::input:
        return errno_error(error, "hand the command its input",
                           "Put it into a file with write_file and read that: command <file.");
    case ShimStep::cgroup:
        return errno_error(error, "put the command into its cgroup",
                           std::string("`berth doctor` shows what this host allows. ") +
                               new_machine);
    case ShimStep::user:
        return errno_error(error, "give the command its user", new_machine);
    case ShimStep::filter:
        return errno_error(error, "keep the command from making set-user-id files on the host",
                           new_machine);
    case ShimStep::none:
    case ShimStep::workdir:
        break;
    }
    return errno_error(error, "start the command",
                       std::string("Nothing of it was run: try again. ") + new_machine);
}

Error workdir_error(int error, const std::string& workdir)
{
    const std::string hint = "Give a directory that exists in the sandbox.";
    if (error == ENOTDIR) {
        return {ErrorCode::invalid_path, visible(workdir) + " is not a directory", hint};
    }
    return errno_error(error, "workdir " + visible(workdir),
                       error == EACCES ? "Give one that can be entered: ls -ld shows its mode."
                                       : hint);
}

/// The session's own directory. Nothing is run elsewhere instead: `rm -rf ./*` that was meant for a
/// build folder would empty the home (docs/adr/0008-lost-directory.md).
Error session_directory_error(int error, const std::string& workdir, const std::string& home)
{
    const bool gone = error == ENOENT || error == ENOTDIR;
    const std::string message =
        "the working directory " + visible(workdir) +
        (gone ? " is gone" : " cannot be entered: " + std::generic_category().message(error)) +
        "; nothing was run";
    return {gone ? ErrorCode::not_found : ErrorCode::permission_denied, message,
            workdir == home
                ? "Give a workdir, e.g. /tmp, and mend the home from there: chmod u+rwx " + home
                : "The working directory is " + home +
                      " now: give the command again if that is the right place for it."};
}

/// Where the shell ended in a directory that cannot be named.
std::string lost_directory(int error)
{
    return error == ENAMETOOLONG ? "the path of the working directory has more than " +
                                       std::to_string(max_cwd - 1) + " bytes"
           : error == ENOENT ? "the working directory was deleted"
                             : "the working directory cannot be reached by a path";
}

} // namespace

void Command::start_failed(const ShimReport& report)
{
    if (failed_) {
        return;
    }
    failed_ = true;
    const Done done = std::exchange(done_, nullptr);
    const std::exception_ptr error = failure(report);
    const auto self = shared_from_this();
    if (done) {
        job_id_.clear(); // who asked for the job is told that there is none
    } else {
        add_notice(message_of(error));
    }
    settle();
    if (done) {
        done({}, error);
    }
}

std::exception_ptr Command::failure(const ShimReport& report)
{
    if (report.step == ShimStep::fork && report.error == EAGAIN) {
        return std::make_exception_ptr(OutOfProcesses());
    }
    if (report.step != ShimStep::workdir) {
        return std::make_exception_ptr(start_error(report, "the shell"));
    }
    if (!in_session_directory_) {
        return std::make_exception_ptr(workdir_error(report.error, workdir_));
    }
    const std::string& home = host_.config.home;
    host_.session.set_cwd(home);
    return std::make_exception_ptr(session_directory_error(report.error, workdir_, home));
}

void Command::fill_fate()
{
    using protocol::Fate;
    if (stop_reason_ == StopReason::ended && !end_) {
        // Stopped so fast that nobody was left to say how the shell ended.
        reply_.fate = Fate::signaled;
        reply_.signal = SIGKILL;
        reply_.exit_code = 128 + SIGKILL;
        return;
    }
    const bool by_stop =
        (stop_reason_ == StopReason::timed_out || stop_reason_ == StopReason::cancelled) &&
        !ended_before_stop_;
    if (by_stop || !end_) {
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
            add_notice(lost_directory(end_->cwd_error) + "; the next command starts in " +
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
