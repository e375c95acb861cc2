#include "sandbox/guest/exec/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

// What a command's shim says, and what the kernel says of its processes.

namespace berth::guest {
namespace {

/// For the orphans of a shim that was killed.
constexpr std::chrono::milliseconds between_looks{20};

} // namespace

void Command::read_reports()
{
    std::array<char, 8192> buffer{};
    while (report_) {
        const ssize_t size = ::read(report_.get(), buffer.data(), buffer.size());
        if (size > 0) {
            report_bytes_.append(buffer.data(), static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            if (size < 0 && errno == EAGAIN) {
                break;
            }
            host_.loop.unwatch(report_.get());
            report_.reset();
        }
    }
    ShimReport report;
    while (report_bytes_.size() >= sizeof(report)) {
        std::memcpy(&report, report_bytes_.data(), sizeof(report));
        if (report.cwd_size > max_cwd || report_bytes_.size() < sizeof(report) + report.cwd_size) {
            break;
        }
        std::string cwd = report_bytes_.substr(sizeof(report), report.cwd_size);
        report_bytes_.erase(0, sizeof(report) + report.cwd_size);
        take_report(report, std::move(cwd));
    }
}

void Command::take_report(const ShimReport& report, std::string cwd)
{
    switch (report.kind) {
    case ReportKind::failed:
        start_failed(report);
        break;
    case ReportKind::started:
        shell_ = report.shell;
        tree_.set_started(report.shell);
        answer_started();
        break;
    case ReportKind::ended: {
        ShellEnd end;
        end.status = report.status;
        end.moved = report.moved != 0;
        if (!cwd.empty()) {
            end.cwd = std::move(cwd);
        }
        end.cwd_error = report.error;
        end.peak_memory = report.peak_memory;
        end.cpu_time = report.cpu_time;
        shell_ended(std::move(end));
        break;
    }
    case ReportKind::settled:
        settled_ = true;
        left_something_ = report.children != 0;
        if (phase_ == Phase::draining) {
            drain();
        }
        break;
    }
}

void Command::shell_ended(ShellEnd end)
{
    if (end_) {
        return;
    }
    end_ = std::move(end);
    if (phase_ == Phase::running) {
        start_draining();
    } else if (phase_ == Phase::draining) {
        drain();
    }
}

void Command::reaped(pid_t pid, int status, const rusage& usage)
{
    if (pid == tree_.shim() && !tree_.shim_gone()) {
        shim_ended(status);
    } else if (pid == shell_ && !end_) {
        // The command killed its shim; the kernel made the guest the shell's parent.
        tree_.reaped(pid);
        ShellEnd end;
        end.status = status;
        end.peak_memory = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
        end.cpu_time =
            static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
            static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        find_orphans();
        shell_ended(std::move(end));
    } else if (tree_.reaped(pid)) {
        find_orphans_soon();
    } else {
        if (tree_.cgroup() && tree_.shim_killed()) {
            gone_pause_ = first_gone_pause;
            check_gone(); // it may have been the last one in there
        }
        return;
    }
    check_gone();
}

void Command::shim_ended(int status)
{
    read_reports();
    // A shim that could not start the shell has nothing below it either.
    tree_.shim_reaped(failed_ || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    find_orphans();
    if (phase_ == Phase::draining) {
        drain();
        return;
    }
    if (end_ || failed_ || phase_ != Phase::running) {
        return;
    }
    const auto shell = shell_ > 0 ? read_process(shell_) : std::nullopt;
    if (!shell || shell->parent != ::getpid()) {
        // Killed before it had a shell, or the shell's end was seen by nobody.
        reply_.fate = protocol::Fate::lost;
        start_draining();
    }
}

std::vector<ProcessStat> Command::living(bool* unread)
{
    if (!tree_.shim_killed()) {
        return tree_.living(unread);
    }
    std::vector<ProcessStat> result;
    if (tree_.cgroup()) {
        result = tree_.living(unread);
    } else {
        bool incomplete = false;
        const auto all = all_processes(&incomplete);
        tree_.adopt(host_.unowned_children(*this, all));
        result = tree_.living(all);
        looked_ = BootClock::now();
        to_look_ = false;
        if (incomplete) {
            find_orphans_soon();
            if (unread != nullptr) {
                *unread = true;
            }
        }
    }
    if (shell_ < 0 && !end_) {
        // The shim died before it could name the shell: the one that leads its own session.
        const auto shell = std::ranges::find_if(result, [](const ProcessStat& process) {
            return process.session == process.pid && process.parent == ::getpid();
        });
        shell_ = shell != result.end() ? shell->pid : -1;
    }
    return result;
}

void Command::find_orphans()
{
    if (tree_.shim_killed()) {
        (void)living();
    }
}

/// One look for all that has ended meanwhile. With one for each, whatever forks and ends without a
/// pause would have the guest read the process table and do nothing else.
void Command::find_orphans_soon()
{
    to_look_ = true;
    if (orphans_timer_ != 0) {
        return;
    }
    orphans_timer_ = host_.loop.call_at(looked_ + between_looks, guarded([](Command& command) {
                                            command.orphans_timer_ = 0;
                                            if (command.to_look_) {
                                                command.find_orphans();
                                            }
                                            command.check_gone();
                                        }));
}

/// With longer and longer pauses. What a killed shim has left may run for hours, and each end of a
/// process looks again: that is not waited for here.
void Command::check_gone_later()
{
    constexpr std::chrono::milliseconds longest{1000};
    if (gone_timer_ != 0 || (tree_.shim_killed() && gone_pause_ >= longest)) {
        return;
    }
    gone_timer_ = host_.loop.call_awake(gone_pause_, guarded([](Command& command) {
                                            command.gone_timer_ = 0;
                                            command.check_gone();
                                        }));
    gone_pause_ = std::min(gone_pause_ * 2, longest);
}

void Command::check_gone()
{
    if (phase_ != Phase::answered || dropped_ || to_look_ || !tree_.all_reaped()) {
        return;
    }
    if (tree_.populated()) {
        check_gone_later();
        return;
    }
    dropped_ = true;
    for (OutputStream* stream : {&out_, &err_}) {
        read_stream(*stream, last_reads); // one wake-up may tell of the end before the output
        end_stream(*stream);
    }
    become_over();
    host_.gone(*this);
}

} // namespace berth::guest
