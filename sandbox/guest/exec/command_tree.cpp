#include "sandbox/guest/exec/command_tree.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>

#include <sys/wait.h>

namespace berth::guest {
namespace {

constexpr std::chrono::milliseconds give_up{1900};
/// A swarm that forks faster than it is stopped is killed where it stands, and looked at again.
constexpr int max_freezes = 10;
/// In one turn of the loop: each reads the process table.
constexpr int looks_per_turn = 3;
constexpr std::chrono::milliseconds shim_farewell{300};

/// Whether a child of the guest has ended and is yet to be reaped. By waitid, which looks under the
/// kernel's own lock: whoever is found alive has handed none of its children on.
bool has_ended(pid_t child, siginfo_t& info) noexcept
{
    info = {};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) !=
               0 ||
           info.si_pid == child;
}

/// One that forks and ends is gone by now, and its child is in its group: the kernel lets nobody
/// fork out of one that it is ending. A group is of one session, so of `session` it is the tree's.
void end_with_group(const ProcessStat& process, pid_t session)
{
    signal_process(process, SIGKILL);
    if (session > 0 && process.session == session && process.group > 1) {
        ::kill(-process.group, SIGKILL);
    }
}

} // namespace

bool CommandTree::may_have_orphans() const noexcept
{
    // By itself it ends when nothing is below it, or when it could not start anything.
    siginfo_t info{};
    return shim_gone_ ? !complete_ : has_ended(shim_, info) && info.si_code != CLD_EXITED;
}

void CommandTree::adopt(const std::vector<pid_t>& orphans)
{
    orphans_.insert(orphans.begin(), orphans.end());
}

std::vector<ProcessStat> CommandTree::living(bool* unread) const
{
    if (!cgroup_) {
        return shim_gone_ && orphans_.empty() ? std::vector<ProcessStat>()
                                              : living(all_processes(unread));
    }
    std::vector<ProcessStat> result;
    for (const pid_t pid : cgroup_->processes()) {
        const auto stat = read_process(pid, unread);
        if (pid != shim_ && stat && stat->alive()) {
            result.push_back(*stat);
        }
    }
    return result;
}

std::vector<ProcessStat> CommandTree::living(const std::vector<ProcessStat>& all) const
{
    std::vector<ProcessStat> result;
    std::ranges::copy_if(all, std::back_inserter(result), [this](const ProcessStat& process) {
        return owns(process.pid) && process.alive();
    });
    std::vector<pid_t> roots(orphans_.begin(), orphans_.end());
    if (!shim_gone_) {
        roots.push_back(shim_);
    }
    const auto below = descendants(all, roots);
    result.insert(result.end(), below.begin(), below.end());
    if (result.empty() && !shim_gone_ && session_ > 0) {
        // The shim waits for something all the same. What forks and ends without a pause has a
        // parent that is not in the table any more; its session it keeps, and while somebody is in
        // that nobody else has its number.
        std::ranges::copy_if(all, std::back_inserter(result), [this](const ProcessStat& process) {
            return process.session == session_ && process.alive();
        });
    }
    return result;
}

bool CommandTree::remove_cgroup()
{
    if (cgroup_ && !cgroup_->remove()) {
        return false;
    }
    cgroup_.reset();
    return true;
}

TreeStopper::TreeStopper(EventLoop& loop, CommandTree& tree, Look look, Done done)
    : loop_(loop), tree_(tree), look_(std::move(look)), done_(std::move(done)),
      deadline_(Deadline::after(give_up))
{
    again(std::chrono::milliseconds(0));
}

TreeStopper::~TreeStopper()
{
    loop_.cancel(timer_);
}

void TreeStopper::again(std::chrono::milliseconds delay)
{
    timer_ = loop_.call_at(BootClock::now() + delay, [this] { turn(); });
}

void TreeStopper::turn()
{
    for (int look = 0; look < looks_per_turn; ++look) {
        if (pass()) {
            finish(0);
            return;
        }
    }
    if (deadline_.expired()) {
        finish(std::max<std::uint32_t>(1, static_cast<std::uint32_t>(look_(nullptr).size())));
        return;
    }
    // Between two looks the killed ones need the processor to die.
    again(std::chrono::milliseconds(1));
}

void TreeStopper::finish(std::uint32_t survivors)
{
    Outcome outcome;
    outcome.survivors = survivors;
    if (survivors == 0) {
        outcome.proof = tree_.cgroup()     ? protocol::StopProof::cgroup
                        : tree_.disputed() ? protocol::StopProof::none
                                           : protocol::StopProof::subreaper;
    }
    // The callback may destroy this.
    const Done done = std::move(done_);
    done(outcome);
}

bool TreeStopper::pass()
{
    if (tree_.cgroup()) {
        // The shim dies with the rest; the guest inherits and reaps them.
        tree_.cgroup()->kill();
        return !tree_.cgroup()->populated();
    }
    return pass_by_descent();
}

bool TreeStopper::pass_by_descent()
{
    bool unread = false;
    const auto living = look_(&unread);
    if (tree_.gone() && !unread) {
        return true; // the shim itself found that nothing is left below it
    }
    if (!tree_.started() && !tree_.shim_gone()) {
        // It has yet to make the shell: looked for now, there would be nothing, and then there
        // would. Its pid is the guest's own child's, so it is the shim.
        ::kill(tree_.shim(), SIGKILL);
        return false;
    }
    if (living.empty() && unread) {
        empty_looks_ = 0; // nothing was seen, which is not to see that there is nothing
        return false;
    }
    if (living.empty()) {
        siginfo_t info{};
        if (!tree_.shim_gone() && has_ended(tree_.shim(), info)) {
            // What was below it is the guest's child now, where nobody has looked yet.
            empty_looks_ = 0;
            return false;
        }
        if (++empty_looks_ == 1) {
            farewell_ = Deadline::after(shim_farewell);
        }
        // The shim that ends is the better proof, when it still can.
        return empty_looks_ >= 2 && (tree_.shim_gone() || farewell_.expired());
    }
    empty_looks_ = 0;
    // Stopped first, and looked for again until nobody new turns up: a parent that is killed at
    // once may be forking just then, and its child would get away unseen.
    bool fresh = false;
    for (const auto& process : living) {
        if (stopped_.emplace(process.pid, process.start_time).second) {
            fresh = true;
            signal_process(process, SIGSTOP);
        }
    }
    if (fresh && ++freezes_ < max_freezes) {
        return false;
    }
    freezes_ = 0;
    for (const auto& process : living) {
        end_with_group(process, tree_.session());
    }
    return false;
}

} // namespace berth::guest
