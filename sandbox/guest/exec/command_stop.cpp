#include "sandbox/guest/exec/command.hpp"

#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

// A command's time limit, its cancellation, and the stop of all that it started.

namespace berth::guest {

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

void Command::end_job(std::function<void()> then)
{
    after_stop_ = std::move(then);
    stop(StopReason::ended);
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
