#include "sandbox/guest/exec/command.hpp"
#include "sandbox/guest/exec/written_bytes.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

// A command's time limit, its cancellation, and the stop of all that it started.

namespace berth::guest {

void Command::arm_timeout()
{
    const auto passed = host_.clock.now() - started_;
    timer_ = host_.loop.call_at(BootClock::now() + (timeout_ - passed),
                                guarded([](Command& command) { command.timeout_due(); }));
}

void Command::timeout_due()
{
    read_reports(); // of a guest that stood still they may be as old as the deadline
    if (phase_ != Phase::running) {
        return;
    }
    // The loop's clock went on while the host was suspended, this one did not: what slept may go
    // on.
    if (host_.clock.now() - started_ < timeout_) {
        arm_timeout();
        return;
    }
    if (background_at_timeout_ && done_) {
        if (!host_.job_table_full()) {
            move_to_background();
            return;
        }
        add_notice("too many jobs are running, " + std::to_string(host_.config.max_jobs) +
                   " may at once (session.jobs): the command was stopped at its timeout instead of "
                   "going on in the background. End one with bash_kill");
    }
    stop(StopReason::timed_out);
}

std::optional<std::chrono::milliseconds> Command::time_left() const
{
    if (is_call()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            started_ + timeout_ - host_.clock.now());
        return std::max(left, std::chrono::milliseconds(0));
    }
    const auto left = remaining();
    return left ? std::optional<std::chrono::milliseconds>(*left) : std::nullopt;
}

/// Nothing fires while the session is paused, also not to find out that it is.
void Command::hold_deadline()
{
    host_.loop.cancel(lifetime_timer_);
}

void Command::resume_deadline()
{
    if (is_job() && !is_stopping() && lifetime_end_) {
        arm_lifetime();
    }
}

bool Command::is_settled() const noexcept
{
    if (over_) {
        return tree_.shim_gone();
    }
    return is_job() && (phase_ == Phase::running || phase_ == Phase::answered) && ended_by_.empty();
}

void Command::cancel()
{
    if (phase_ == Phase::answered) {
        end_softly(std::chrono::milliseconds(0));
        return;
    }
    // Also behind its shell's end: nobody will learn of what that has left.
    if (phase_ == Phase::running ||
        (phase_ == Phase::draining && stop_reason_ == StopReason::none && !failed_)) {
        stop(StopReason::cancelled);
    }
}

void Command::end_job(std::function<void()> then)
{
    after_stop_ = std::move(then);
    ended_by_ = "room";
    stop(StopReason::ended);
}

void Command::end_for_quota(const std::string& why, std::function<void()> then)
{
    add_notice(why);
    after_stop_ = std::move(then);
    ended_by_ = "quota";
    stop(StopReason::ended);
}

std::uint64_t Command::written()
{
    std::uint64_t sum = tree_.shim_gone() ? 0 : written_bytes(tree_.shim());
    for (const auto& process : living()) {
        sum += written_bytes(process.pid);
    }
    return sum;
}

void Command::detach()
{
    done_ = nullptr;
    if (failed_ || (phase_ == Phase::answered && !awaited_)) {
        return;
    }
    awaited_ = false;
    outcome_.cut_off();
    host_.left_unseen();
    if (!job_id_.empty()) {
        return;
    }
    // Also of one that is about to end: nobody has seen how it did.
    job_id_ = host_.new_job_id();
    made_by_break_ = phase_ == Phase::answered;
    out_.keep_newest();
    err_.keep_newest();
    if (phase_ == Phase::running) {
        host_.loop.cancel(timer_);
        const auto left = std::max(timeout_ - std::chrono::milliseconds(running_time()),
                                   std::chrono::milliseconds(1));
        // At its timeout it would have become a job, and been one for so long.
        const bool unlimited = background_at_timeout_ && lifetime_.count() == 0;
        set_lifetime(unlimited                ? std::chrono::milliseconds(0)
                     : background_at_timeout_ ? left + lifetime_
                                              : left);
    }
}

void Command::acknowledged()
{
    awaited_ = false;
    if (phase_ == Phase::answered && !was_job()) {
        out_.drop_kept();
        err_.drop_kept();
    }
}

void Command::await_again() noexcept
{
    if (outcome_.await_again()) {
        awaited_ = true;
        if (std::exchange(made_by_break_, false)) {
            job_id_.clear();
        }
    }
}

void Command::stop(StopReason reason)
{
    host_.loop.cancel(timer_);
    host_.loop.cancel(grace_timer_);
    phase_ = Phase::stopping;
    stop_reason_ = reason;
    ended_before_stop_ = end_.has_value();
    reply_.job_id.clear(); // nothing of it is to be left
    if (!tree_.shim_gone()) {
        // It has to reap; the command may have stopped it. Its pid is the guest's own child's.
        ::kill(tree_.shim(), SIGCONT);
    }
    stopper_ = std::make_unique<TreeStopper>(
        host_.loop, tree_, [this](bool* unread) { return living(unread); },
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

/// For the end, when the loop turns no more.
void Command::reap_shim(int options)
{
    int status = 0;
    if (!tree_.shim_gone() && ::waitpid(tree_.shim(), &status, options) == tree_.shim()) {
        tree_.shim_reaped(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

void Command::destroy() noexcept
{
    stopper_.reset();
    const auto look = [this](bool* unread) {
        reap_shim(WNOHANG);
        return living(unread);
    };
    TreeStopper stopper(host_.loop, tree_, look, nullptr);
    for (int passes = 0; passes < 500 && !stopper.pass(); ++passes) {
        ::usleep(2000);
    }
    if (!tree_.shim_gone()) {
        ::kill(tree_.shim(), SIGKILL);
        reap_shim(0);
    }
    for (int tries = 0; tries < 100 && !tree_.remove_cgroup(); ++tries) {
        ::usleep(1000);
    }
}

} // namespace berth::guest
