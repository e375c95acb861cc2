#include "sandbox/guest/exec/command.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::size_t kept_text = 200;
/// After the shell's end: how long the pipes are read at most, and how long they must have been
/// silent when something still holds them. Long enough for `> >(tee log)` to finish.
constexpr std::chrono::milliseconds drain_at_most{100};
constexpr std::chrono::milliseconds drain_silence{50};
/// Buffers of 64 KiB per wake-up and stream: a share that keeps the loop answering others.
constexpr int reads_per_wakeup = 4;
constexpr std::chrono::seconds shim_patience{1};

} // namespace

Command::Command(CommandHost& host, const protocol::ExecuteRequest& request, std::string workdir,
                 std::string notice, Spawned spawned, std::optional<CommandCgroup> cgroup,
                 std::uint64_t oom_kills, Done done)
    : host_(host), id_(request.id), text_(utf8::prefix_bytes(request.command, kept_text)),
      workdir_(std::move(workdir)), timeout_(static_cast<std::chrono::milliseconds::rep>(
                                        std::min<std::uint64_t>(request.timeout, 1'000'000'000))),
      keep_leftovers_(request.on_exit == protocol::OnExit::keep),
      moves_session_(request.sticky_cwd && request.workdir.empty()),
      spill_above_(request.spill_above), done_(std::move(done)), oom_kills_(oom_kills),
      tree_(spawned.shim, std::move(cgroup)), report_(std::move(spawned.report)),
      out_(std::move(spawned.output), request.head_limit, request.tail_limit, host.spill, "stdout"),
      err_(std::move(spawned.error), request.head_limit, request.tail_limit, host.spill, "stderr")
{
    reply_.notice = std::move(notice);
}

Command::~Command()
{
    host_.loop.cancel(timer_);
    for (const int fd : {report_.get(), out_.fd(), err_.fd()}) {
        if (fd >= 0) {
            host_.loop.unwatch(fd);
        }
    }
}

/// A callback that does nothing once the command is gone.
template <class Function>
auto Command::guarded(Function function)
{
    return [weak = weak_from_this(), function](auto&&...) {
        if (const auto self = weak.lock()) {
            function(*self);
        }
    };
}

void Command::watch()
{
    host_.loop.watch(report_.get(), EPOLLIN,
                     guarded([](Command& command) { command.read_reports(); }));
    watch_stream(out_);
    watch_stream(err_);
    arm_timeout();
}

// ---- output ------------------------------------------------------------------------------------

void Command::watch_stream(OutputStream& stream)
{
    host_.loop.watch(stream.fd(), EPOLLIN, guarded([&stream](Command& command) {
                         command.read_stream(stream, reads_per_wakeup);
                         if (command.phase_ == Phase::draining) {
                             command.drain();
                         }
                     }));
}

/// True when there may be more at once.
bool Command::read_stream(OutputStream& stream, int reads)
{
    if (stream.fd() < 0) {
        return false;
    }
    const std::uint64_t before = stream.total_bytes();
    const auto state = stream.read_some(host_.buffer, reads);
    if (stream.total_bytes() != before) {
        drain_last_ = BootClock::now();
    }
    if (state == OutputStream::State::ended) {
        end_stream(stream);
    }
    return state == OutputStream::State::more;
}

void Command::end_stream(OutputStream& stream)
{
    if (stream.fd() >= 0) {
        host_.loop.unwatch(stream.fd());
    }
    stream.close();
}

void Command::start_draining()
{
    host_.loop.cancel(timer_);
    phase_ = Phase::draining;
    drain_since_ = BootClock::now();
    drain_last_ = drain_since_;
    drain();
}

void Command::drain()
{
    const bool out_more = read_stream(out_, reads_per_wakeup);
    const bool err_more = read_stream(err_, reads_per_wakeup);
    const auto now = BootClock::now();
    // What the shim has yet to say: what was used, and whether anything is left. Where the cgroup
    // was killed it cannot.
    const bool told =
        settled_ || tree_.shim_gone() || (tree_.cgroup() && stop_reason_ != StopReason::none);
    // What is left is given a moment to end by itself, or every `true &` would be a job.
    const bool lingers = left_something_ && !tree_.shim_gone() && stop_reason_ == StopReason::none;
    if ((out_.fd() < 0 && err_.fd() < 0 && told && !lingers) ||
        now - drain_since_ >= drain_at_most ||
        (!out_more && !err_more && now - drain_last_ >= drain_silence)) {
        settle();
        return;
    }
    host_.loop.cancel(timer_);
    const auto next = out_more || err_more ? now : drain_last_ + drain_silence;
    timer_ = host_.loop.call_at(next, guarded([](Command& command) {
                                    if (command.phase_ == Phase::draining) {
                                        command.drain();
                                    }
                                }));
}

// ---- what the shim and the kernel say ----------------------------------------------------------

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
        tree_.set_started();
        if (report.fell_back != 0) {
            add_notice("the working directory was gone; the command ran in " + host_.config.home);
            host_.session.set_cwd(host_.config.home);
        }
        break;
    case ReportKind::ended: {
        ShellEnd end;
        end.status = report.status;
        end.moved = report.moved != 0;
        if (!cwd.empty()) {
            end.cwd = std::move(cwd);
        }
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

bool Command::reaped(pid_t pid, int status, const rusage& usage)
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
        find_orphans();
    } else {
        if (tree_.cgroup() && tree_.shim_killed()) {
            check_gone(); // it may have been the last one in there
        }
        return false;
    }
    check_gone();
    return true;
}

void Command::shim_ended(int status)
{
    read_reports();
    // A shim that could not start the shell has nothing below it either.
    tree_.shim_ended(failed_ || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
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

void Command::find_orphans()
{
    if (!tree_.shim_killed()) {
        return;
    }
    if (!tree_.cgroup()) {
        tree_.adopt(host_.unowned_children());
    }
    if (shell_ < 0 && !end_) {
        // The shim died before it could name the shell: the one that leads its own session.
        for (const auto& process : tree_.living()) {
            if (process.session == process.pid && process.parent == ::getpid()) {
                shell_ = process.pid;
                break;
            }
        }
    }
}

void Command::check_gone()
{
    if (phase_ == Phase::answered && !dropped_ && tree_.gone()) {
        dropped_ = true;
        end_stream(out_);
        end_stream(err_);
        host_.gone(*this);
    }
}

// ---- time limit, cancel, stop ------------------------------------------------------------------

void Command::arm_timeout()
{
    const auto passed = std::chrono::steady_clock::now() - started_;
    timer_ = host_.loop.call_at(BootClock::now() + (timeout_ - passed),
                                guarded([](Command& command) { command.timeout_due(); }));
}

void Command::timeout_due()
{
    if (phase_ != Phase::running) {
        return;
    }
    // The loop's clock went on while the host was suspended, this one did not: what slept may go
    // on.
    if (std::chrono::steady_clock::now() - started_ < timeout_) {
        arm_timeout();
        return;
    }
    stop(StopReason::timed_out);
}

void Command::cancel()
{
    if (phase_ == Phase::running) {
        stop(StopReason::cancelled);
    }
}

void Command::detach()
{
    done_ = nullptr;
    if (phase_ == Phase::running && job_id_.empty()) {
        job_id_ = host_.new_job_id();
        out_.spill_all();
        err_.spill_all();
        out_.drop_kept();
        err_.drop_kept();
    }
}

void Command::stop(StopReason reason)
{
    host_.loop.cancel(timer_);
    phase_ = Phase::stopping;
    stop_reason_ = reason;
    if (!tree_.shim_gone()) {
        // It has to reap; the command may have stopped it. Its pid is the guest's own child's.
        ::kill(tree_.shim(), SIGCONT);
    }
    stopper_ = std::make_unique<TreeStopper>(
        host_.loop, tree_, [this] { find_orphans(); },
        [this](TreeStopper::Outcome outcome) { stopped(outcome); });
}

void Command::stopped(TreeStopper::Outcome outcome)
{
    const auto self = shared_from_this();
    stopper_.reset();
    reply_.survivors = outcome.survivors;
    reply_.stop_proof = outcome.proof;
    start_draining();
}

void Command::destroy() noexcept
{
    stopper_.reset();
    TreeStopper stopper(host_.loop, tree_, [this] { find_orphans(); }, nullptr);
    for (int passes = 0; passes < 500 && !stopper.pass(); ++passes) {
        ::usleep(2000);
    }
    if (!tree_.shim_gone()) {
        ::kill(tree_.shim(), SIGKILL);
        ::waitpid(tree_.shim(), nullptr, 0);
        tree_.shim_ended(true);
    }
    for (int tries = 0; tries < 100 && !tree_.remove_cgroup(); ++tries) {
        ::usleep(1000);
    }
}

// ---- the end -----------------------------------------------------------------------------------

void Command::settle()
{
    host_.loop.cancel(timer_);
    const bool may_have_left =
        !failed_ && stop_reason_ == StopReason::none && (!settled_ || left_something_);
    const auto living = may_have_left ? tree_.living() : std::vector<ProcessStat>();
    if (!living.empty() && (!keep_leftovers_ || (job_id_.empty() && host_.job_table_full()))) {
        if (keep_leftovers_) {
            add_notice("too many jobs are running: what the command left running was stopped");
        }
        stop(StopReason::leftovers);
        return;
    }
    if (!living.empty()) {
        keep_as_job(living);
    } else {
        end_stream(out_);
        end_stream(err_);
    }
    answer();
}

void Command::keep_as_job(const std::vector<ProcessStat>& living)
{
    if (job_id_.empty()) {
        job_id_ = host_.new_job_id();
    }
    reply_.job_id = job_id_;
    for (const auto& process : living) {
        reply_.left_running.push_back({process.pid, process_name(process.pid)});
    }
    for (OutputStream* stream : {&out_, &err_}) {
        if (stream->fd() >= 0) {
            stream->spill_all();
        }
    }
}

void Command::spill_for_host()
{
    if (spill_above_ == 0 || out_.total_bytes() + err_.total_bytes() <= spill_above_) {
        return;
    }
    for (OutputStream* stream : {&out_, &err_}) {
        if (stream->total_bytes() > spill_above_ / 4) {
            stream->spill_all();
            if (stream->fd() < 0) {
                stream->close();
            }
        }
    }
}

void Command::answer()
{
    const auto self = shared_from_this();
    phase_ = Phase::answered;
    if (reply_.job_id.empty()) {
        job_id_.clear();
        // A shim that the command has stopped would be there for ever.
        timer_ = host_.loop.call_at(BootClock::now() + shim_patience, guarded([](Command& command) {
                                        if (!command.tree_.shim_gone()) {
                                            ::kill(command.tree_.shim(), SIGKILL);
                                        }
                                    }));
    }
    const Done done = std::exchange(done_, nullptr);
    if (done && !failed_) {
        fill_fate();
        fill_usage();
        move_session();
        reply_.duration =
            static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                           std::chrono::steady_clock::now() - started_)
                                           .count());
        spill_for_host();
        reply_.out = out_.result();
        reply_.err = err_.result();
        done(std::move(reply_), nullptr);
    }
    out_.drop_kept();
    err_.drop_kept();
    check_gone();
}

protocol::JobEntry Command::job_entry() const
{
    protocol::JobEntry entry;
    entry.job_id = job_id_;
    entry.command = text_;
    entry.status = "running";
    entry.processes = static_cast<std::uint32_t>(tree_.living().size());
    entry.age = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                               std::chrono::steady_clock::now() - started_)
                                               .count());
    return entry;
}

} // namespace berth::guest
