#include "sandbox/guest/exec/command.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <csignal>

#include <sys/epoll.h>
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
/// For what a command has left and that was not seen.
constexpr std::chrono::milliseconds until_seen{5};

std::chrono::milliseconds milliseconds_of(std::uint64_t count)
{
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(
        std::min<std::uint64_t>(count, 1'000'000'000'000)));
}

} // namespace

std::string shown_beginning(const std::string& command)
{
    return std::string(utf8::prefix_bytes(command, kept_text));
}

Command::Command(CommandHost& host, const protocol::ExecuteRequest& request, std::uint64_t order,
                 std::string workdir, std::string notice, pid_t shim, CommandPipes pipes,
                 std::optional<CommandCgroup> cgroup, const LimitCounts& limits, Done done)
    : host_(host), id_(request.id), order_(order), text_(shown_beginning(request.command)),
      workdir_(std::move(workdir)), timeout_(milliseconds_of(request.timeout)),
      keep_leftovers_(request.on_exit == protocol::OnExit::keep),
      in_session_directory_(request.workdir.empty()),
      moves_session_(request.sticky_cwd && request.workdir.empty() && !request.background),
      spill_above_(request.spill_above), background_(request.background),
      background_at_timeout_(request.on_timeout == protocol::OnTimeout::background),
      lifetime_(milliseconds_of(request.job_lifetime)), done_(std::move(done)), limits_(limits),
      tree_(shim, std::move(cgroup)), report_(std::move(pipes.report.read)),
      out_(std::move(pipes.output.read), request.head_limit, request.tail_limit, host.spill,
           "stdout"),
      err_(std::move(pipes.error.read), request.head_limit, request.tail_limit, host.spill,
           "stderr"),
      input_(std::move(pipes.input.write)), had_input_(input_.valid()),
      has_secrets_(request.has_secrets), awaited_(request.acknowledge)
{
    reply_.notice = std::move(notice);
    if (background_) {
        job_id_ = host.new_job_id();
        out_.keep_newest();
        err_.keep_newest();
    }
    if (had_input_ && request.input) {
        pending_input_ = *request.input;
    }
}

Command::~Command()
{
    host_.loop.cancel(timer_);
    host_.loop.cancel(orphans_timer_);
    host_.loop.cancel(gone_timer_);
    host_.loop.cancel(lifetime_timer_);
    host_.loop.cancel(grace_timer_);
    host_.loop.cancel(input_timer_);
    for (const int fd : {report_.get(), out_.fd(), err_.fd(), input_watched_ ? input_.get() : -1}) {
        if (fd >= 0) {
            host_.loop.unwatch(fd);
        }
    }
}

void Command::watch()
{
    host_.loop.hand_over(report_.get(), guarded([](Command& command) { command.read_reports(); }));
    watch_stream(out_);
    watch_stream(err_);
    if (background_) {
        set_lifetime(timeout_);
    } else {
        arm_timeout();
    }
    flush_input();
}

void Command::watch_stream(OutputStream& stream)
{
    host_.loop.hand_over(stream.fd(), guarded([&stream](Command& command) {
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
    const auto state = stream.read_some(host_.loop.read_buffer(), reads);
    if (stream.total_bytes() != before) {
        drain_last_ = BootClock::now();
        host_.printed(*this);
        if (is_job()) {
            host_.job_changed(*this);
        }
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
    drain_later(out_more || err_more ? now : drain_last_ + drain_silence);
}

void Command::drain_later(BootClock::time_point when)
{
    host_.loop.cancel(timer_);
    timer_ = host_.loop.call_at(when, guarded([](Command& command) {
                                    if (command.phase_ == Phase::draining) {
                                        command.drain();
                                    }
                                }));
}

/// Whether a look that has seen nothing proves that nothing is left. While the list of processes is
/// read, what forks and ends has moved on to one that is not in it: taken for ended it would run on
/// without a deadline, and nobody could stop it.
bool Command::is_proven_empty(bool unread) const
{
    return !unread && !to_look_ &&
           (tree_.shim_killed() ? tree_.gone() : tree_.shim_gone()); // which waits for all below it
}

void Command::settle()
{
    host_.loop.cancel(timer_);
    const bool may_have_left =
        !failed_ && stop_reason_ == StopReason::none && (!settled_ || left_something_);
    bool unread = false;
    const auto left = may_have_left ? living(&unread) : std::vector<ProcessStat>();
    if (may_have_left && left.empty() && !is_proven_empty(unread)) {
        if (const auto now = BootClock::now(); now - drain_since_ < shim_patience) {
            drain_later(now + until_seen);
        } else {
            stop(StopReason::leftovers);
        }
        return;
    }
    if (!left.empty() && (!keep_leftovers_ || (job_id_.empty() && host_.job_table_full()))) {
        if (keep_leftovers_) {
            add_notice(
                "too many jobs are running, " + std::to_string(host_.config.max_jobs) +
                " may at once (session.jobs): what the command left running was stopped. "
                "End one with bash_kill (session_info lists them), or let the operator raise "
                "session.jobs");
        }
        stop(StopReason::leftovers);
        return;
    }
    if (!left.empty()) {
        keep_as_job(left);
    } else {
        // What is in the pipes was printed, however late the guest comes to it.
        for (OutputStream* stream : {&out_, &err_}) {
            read_stream(*stream, last_reads);
            end_stream(*stream);
        }
    }
    answer();
}

void Command::keep_as_job(const std::vector<ProcessStat>& living)
{
    if (job_id_.empty()) {
        job_id_ = host_.new_job_id();
    }
    if (!background_) {
        set_lifetime(lifetime_);
        if (done_) { // else there is no answer that could tell it
            outcome_.set_told();
        }
    }
    reply_.job_id = job_id_;
    reply_.job_remaining = remaining();
    for (const auto& process : living) {
        reply_.left_running.push_back({process.pid, short_process_name(process.pid)});
    }
    for (OutputStream* stream : {&out_, &err_}) {
        if (stream->fd() >= 0) {
            stream->spill_all();
        }
    }
}

void Command::spill_for_host()
{
    if (spill_above_ == 0 || out_.widest() + err_.widest() <= spill_above_) {
        return;
    }
    for (OutputStream* stream : {&out_, &err_}) {
        if (stream->widest() > spill_above_ / 4) {
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
    judge();
    if (reply_.job_id.empty()) {
        become_over();
        // A shim that the command has stopped would be there for ever.
        timer_ = host_.loop.call_awake(shim_patience, guarded([](Command& command) {
                                           if (!command.tree_.shim_gone()) {
                                               ::kill(command.tree_.shim(), SIGKILL);
                                           }
                                       }));
    }
    const Done done = std::exchange(done_, nullptr);
    if (done && !failed_) {
        fill_usage();
        move_session();
        reply_.duration = running_time();
        spill_for_host();
        reply_.out = out_.result();
        reply_.err = err_.result();
        reply_.job_cursor = reply_.job_id.empty() ? "" : cursor();
        reply_.acknowledge = awaited_;
        reply_.denials = host_.denials.since(denials_before_);
        done(std::move(reply_), nullptr);
    }
    for (OutputStream* stream : {&out_, &err_}) {
        if (was_job()) {
            stream->keep_newest();
        } else if (!awaited_) {
            stream->drop_kept();
        }
    }
    if (is_job()) {
        host_.job_changed(*this); // its shell has ended
    }
    if (const auto after = std::exchange(after_stop_, nullptr)) {
        after();
    }
    check_gone();
}

/// Once: what a job's shell came to is not changed by the end of what it left.
void Command::judge()
{
    if (judgement_) {
        return;
    }
    if (failed_) {
        judgement_ = {.notice = reply_.notice};
        return;
    }
    fill_fate();
    tell_limits();
    judgement_ = {reply_.fate, reply_.exit_code, reply_.signal, reply_.notice, reply_.limit_hits};
}

std::uint64_t Command::running_time() const
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(host_.clock.now() - started_)
            .count());
}

} // namespace berth::guest
