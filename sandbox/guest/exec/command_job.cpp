#include "sandbox/base/release_memory.hpp"
#include "sandbox/guest/exec/command.hpp"
#include "sandbox/guest/exec/job_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

// A command that goes on after its call: how it becomes a job, its deadline, its input, its end.

namespace berth::guest {
namespace {

/// Of input, beside what is in the pipe.
constexpr std::size_t input_room = 64UL * 1024;
/// Whether there is room in a pipe that cannot be watched.
constexpr std::chrono::milliseconds look_again{50};

} // namespace

/// The reply to whoever asked for a job: its shell runs.
void Command::answer_started()
{
    if (!background_ || !done_) {
        return;
    }
    protocol::ExecuteReply reply;
    reply.background = true;
    reply.exit_code = -1;
    reply.job_id = job_id_;
    reply.job_cursor = JobCursor().to_text();
    reply.job_remaining = remaining();
    reply.cwd = host_.session.cwd();
    reply.notice = std::exchange(reply_.notice, {});
    reply.acknowledge = awaited_;
    std::exchange(done_, nullptr)(std::move(reply), nullptr);
}

void Command::move_to_background()
{
    job_id_ = host_.new_job_id();
    background_ = true;
    moves_session_ = false;
    set_lifetime(lifetime_);
    protocol::ExecuteReply reply;
    reply.background = true;
    reply.exit_code = -1;
    reply.job_id = job_id_;
    reply.job_cursor = cursor();
    reply.job_remaining = remaining();
    reply.duration = running_time();
    reply.cwd = host_.session.cwd();
    reply.notice = std::exchange(reply_.notice, {});
    spill_for_host();
    reply.out = out_.result();
    reply.err = err_.result();
    reply.acknowledge = awaited_;
    reply.denials = host_.denials.since(denials_before_);
    out_.keep_newest();
    err_.keep_newest();
    std::exchange(done_, nullptr)(std::move(reply), nullptr);
}

/// From now on; 0: not limited any more.
void Command::set_lifetime(std::chrono::milliseconds time)
{
    host_.loop.cancel(lifetime_timer_);
    lifetime_end_.reset();
    if (time.count() > 0) {
        lifetime_end_ = host_.clock.now() + time;
        arm_lifetime();
    }
}

void Command::arm_lifetime()
{
    const auto left = *lifetime_end_ - host_.clock.now();
    host_.loop.cancel(lifetime_timer_); // one that became a job while the session was paused
    lifetime_timer_ = host_.loop.call_at(BootClock::now() + left,
                                         guarded([](Command& command) { command.lifetime_due(); }));
}

void Command::lifetime_due()
{
    read_reports(); // as timeout_due()
    if (!is_job() || is_stopping() || !lifetime_end_) {
        return;
    }
    // As timeout_due(): what slept with the host may go on.
    if (host_.clock.now() < *lifetime_end_) {
        arm_lifetime();
        return;
    }
    ended_by_ = "deadline";
    stop(StopReason::timed_out);
}

std::optional<std::uint64_t> Command::remaining() const
{
    if (!lifetime_end_ || over_) {
        return std::nullopt;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*lifetime_end_ - host_.clock.now());
    return static_cast<std::uint64_t>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

std::string Command::cursor() const
{
    return JobCursor{out_.characters_end(), err_.characters_end()}.to_text();
}

void Command::become_over()
{
    if (over_) {
        return;
    }
    final_age_ = running_time();
    over_ = true;
    host_.loop.cancel(lifetime_timer_);
    host_.loop.cancel(grace_timer_);
    close_input();
    if (was_job()) {
        host_.job_changed(*this);
        if (outcome_.end()) {
            host_.left_unseen();
        }
    }
}

protocol::JobEntry Command::job_entry()
{
    protocol::JobEntry entry;
    entry.job_id = job_id_;
    entry.command = text_;
    entry.status = over_ ? "ended" : "running";
    entry.processes = over_ ? 0 : static_cast<std::uint32_t>(living().size());
    entry.age = over_ ? final_age_ : running_time();
    entry.remaining = remaining();
    entry.unseen = outcome_.unseen().is_set();
    entry.expected = outcome_.is_expected(over_);
    entry.lent = outcome_.unseen().is_lent();
    entry.order = order_;
    entry.not_run = failed_;
    entry.ended_by = ended_by_;
    if (judgement_) {
        entry.exit_code = judgement_->exit_code;
        entry.fate = judgement_->fate;
        entry.signal = judgement_->signal;
    }
    return entry;
}

protocol::JobState Command::job_state()
{
    const auto entry = job_entry();
    protocol::JobState state;
    state.job_id = entry.job_id;
    state.command = entry.command;
    state.running = !over_;
    state.shell_ended = judgement_.has_value();
    state.not_run = failed_;
    if (judgement_) {
        state.fate = judgement_->fate;
        state.exit_code = judgement_->exit_code;
        state.signal = judgement_->signal;
        state.notice = judgement_->notice;
        state.limit_hits = judgement_->limit_hits;
    }
    state.processes = entry.processes;
    state.age = entry.age;
    state.remaining = entry.remaining;
    state.ended_by = ended_by_;
    state.survivors = reply_.survivors;
    state.stop_proof = reply_.stop_proof;
    state.takes_input = input_.valid() && !close_input_;
    state.denials = host_.denials.since(denials_before_);
    state.has_secrets = has_secrets_;
    return state;
}

void Command::feed(std::string_view input, bool close)
{
    if (!had_input_) {
        throw Error(ErrorCode::unsupported,
                    job_id_ + " was not started with stdin_open: its standard input is empty",
                    "Start the command with background and stdin_open in bash_exec.");
    }
    flush_input();
    if (!input_ || close_input_) {
        throw Error(ErrorCode::conflict, "the standard input of " + job_id_ + " is closed",
                    "bash_output tells whether it still runs and what it printed.");
    }
    if (input.size() > input_room) {
        throw Error(ErrorCode::too_large,
                    "the input has " + std::to_string(input.size()) + " bytes, at most " +
                        std::to_string(input_room) + " can be sent at once",
                    "Nothing was sent. Send it in pieces, or put it into a file that the job "
                    "reads.");
    }
    if (pending_input_.size() + input.size() > input_room) {
        throw Error(ErrorCode::busy,
                    job_id_ + " has not read " + std::to_string(pending_input_.size()) +
                        " bytes of earlier input yet",
                    "Nothing was sent. Wait until it goes on (bash_output), then send it again.");
    }
    pending_input_ += input;
    close_input_ = close;
    if (!flush_input() && !input.empty()) {
        throw Error(ErrorCode::conflict, job_id_ + " has closed its standard input",
                    "bash_output tells whether it still runs and what it printed.");
    }
}

bool Command::flush_input()
{
    bool read = true;
    while (input_ && !pending_input_.empty()) {
        const ssize_t size = ::write(input_.get(), pending_input_.data(), pending_input_.size());
        if (size >= 0) {
            pending_input_.erase(0, static_cast<std::size_t>(size));
        } else if (errno == EAGAIN) {
            flush_input_later();
            return true;
        } else if (errno != EINTR) {
            close_input();
            read = false;
        }
    }
    release_memory(pending_input_); // erased: the job would keep its buffer for hours
    if (input_watched_) {
        host_.loop.unwatch(input_.get());
        input_watched_ = false;
    }
    if (close_input_) {
        close_input();
    }
    return read;
}

void Command::flush_input_later()
{
    const auto flush = guarded([](Command& command) {
        command.input_timer_ = 0;
        command.flush_input();
    });
    if (input_watched_ || input_timer_ != 0) {
        return;
    }
    try {
        host_.loop.watch(input_.get(), EPOLLOUT, flush);
        input_watched_ = true;
    } catch (const std::system_error&) {
        // The kernel watches no more for this user (max_user_watches). The command runs, and its
        // input has been taken: neither may fail for that.
        input_timer_ = host_.loop.call_at(BootClock::now() + look_again, flush);
    }
}

void Command::close_input()
{
    host_.loop.cancel(input_timer_);
    input_timer_ = 0;
    if (input_watched_) {
        host_.loop.unwatch(input_.get());
        input_watched_ = false;
    }
    input_.reset();
    std::string().swap(pending_input_);
}

std::uint32_t Command::signal_all(int number)
{
    std::uint32_t signalled = 0;
    for (const auto& process : living()) {
        signalled += signal_process(process, number) ? 1U : 0U;
    }
    return signalled;
}

void Command::stop_again(std::function<void()> then)
{
    after_stop_ = std::move(then);
    stop(StopReason::ended);
}

void Command::end_softly(std::chrono::milliseconds grace)
{
    if (over_ || is_stopping()) {
        return;
    }
    ended_by_ = "kill";
    if (grace.count() <= 0) {
        stop(StopReason::ended);
        return;
    }
    signal_all(SIGTERM);
    signal_all(SIGCONT); // one that is stopped would not hear it
    host_.loop.cancel(grace_timer_);
    grace_timer_ = host_.loop.call_awake(grace, guarded([](Command& command) {
                                             if (!command.over_ && !command.is_stopping()) {
                                                 command.stop(StopReason::ended);
                                             }
                                         }));
}

} // namespace berth::guest
