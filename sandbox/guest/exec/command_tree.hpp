#pragma once

#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/exec/cgroup.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "sandbox/protocol/messages.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth::guest {

/// Everything that one command started, told apart from the rest of the session by its cgroup, or
/// else by descent from its shim and from the orphans of a shim that was killed.
class CommandTree {
  public:
    CommandTree(pid_t shim, std::optional<CommandCgroup> cgroup)
        : shim_(shim), cgroup_(std::move(cgroup))
    {
    }

    [[nodiscard]] pid_t shim() const noexcept { return shim_; }

    [[nodiscard]] bool shim_gone() const noexcept { return shim_gone_; }

    /// The shim has made the shell, which leads a session of its own: from now on it forks no more.
    void set_started(pid_t shell) noexcept
    {
        started_ = true;
        session_ = shell;
    }

    /// Of the shell, and of whatever of the tree has begun none for itself; 0: not known.
    [[nodiscard]] pid_t session() const noexcept { return session_; }

    [[nodiscard]] bool started() const noexcept { return started_; }

    /// Before it was done: the guest has inherited what was below it.
    [[nodiscard]] bool shim_killed() const noexcept { return shim_gone_ && !complete_; }

    [[nodiscard]] const std::optional<CommandCgroup>& cgroup() const noexcept { return cgroup_; }

    /// The shim has ended, reaped or not, and perhaps before what is below it, which the guest has
    /// inherited then.
    [[nodiscard]] bool may_have_orphans() const noexcept;

    /// Orphans that may be of this command were given to another, or the other way round.
    void set_disputed() noexcept { disputed_ = true; }

    /// That nothing of it is seen proves nothing.
    [[nodiscard]] bool disputed() const noexcept { return disputed_ && !complete_ && !cgroup_; }

    /// The shim has been reaped. `complete`: by itself, so nothing below it is left.
    void shim_reaped(bool complete) noexcept
    {
        shim_gone_ = true;
        complete_ = complete;
    }

    /// Children of the guest that belong to this command now, zombies included.
    void adopt(const std::vector<pid_t>& orphans);

    /// The guest has reaped `pid`. True when it was an orphan of this command.
    bool reaped(pid_t pid) noexcept { return orphans_.erase(pid) != 0; }

    [[nodiscard]] bool owns(pid_t pid) const noexcept { return orphans_.contains(pid); }

    /// What runs, without the shim. Reads /proc; `unread`, if given, is set when there may be more.
    [[nodiscard]] std::vector<ProcessStat> living(bool* unread = nullptr) const;
    /// The same from a process table that was read already. Only where there is no cgroup.
    [[nodiscard]] std::vector<ProcessStat> living(const std::vector<ProcessStat>& all) const;

    /// Whatever the guest has inherited of it, and the shim.
    [[nodiscard]] bool all_reaped() const noexcept { return shim_gone_ && orphans_.empty(); }

    /// Its cgroup, if it has one, has something in it: what is alive or, since Linux 6.19, has been
    /// reaped and is about to leave it, of which nobody tells.
    [[nodiscard]] bool populated() const { return cgroup_ && cgroup_->populated(); }

    /// Nothing of the command is left, not even the shim.
    [[nodiscard]] bool gone() const { return all_reaped() && !populated(); }

    /// Removes the cgroup of a tree that is gone; false while the kernel refuses.
    [[nodiscard]] bool remove_cgroup();

    /// Only while there is one.
    [[nodiscard]] CommandCgroup release_cgroup() { return std::move(cgroup_).value(); }

  private:
    pid_t shim_;
    bool started_ = false;
    pid_t session_ = 0;
    bool shim_gone_ = false;
    bool complete_ = false;
    bool disputed_ = false;
    std::set<pid_t> orphans_;
    std::optional<CommandCgroup> cgroup_;
};

/// Stops a whole tree, without grace: freeze what runs, kill it, look again. One for timeout,
/// cancel and kill. Works in short turns on the loop; destroying it ends the attempt.
class TreeStopper {
  public:
    struct Outcome {
        std::uint32_t survivors = 0;
        protocol::StopProof proof = protocol::StopProof::none;
    };

    using Done = std::function<void(Outcome)>;
    /// Has the tree adopt what it inherited and returns what runs of it, both from one reading of
    /// the process table: what forks on has moved by the next. `unread` as for CommandTree::living.
    using Look = std::function<std::vector<ProcessStat>(bool* unread)>;

    /// `tree` must outlive this. `done` is called once, from the loop, within 2 s.
    TreeStopper(EventLoop& loop, CommandTree& tree, Look look, Done done);
    ~TreeStopper();
    TreeStopper(const TreeStopper&) = delete;
    TreeStopper& operator=(const TreeStopper&) = delete;

    /// One turn without the loop. True when nothing runs any more.
    bool pass();

  private:
    void turn();
    void again(std::chrono::milliseconds delay);
    void finish(std::uint32_t survivors);
    bool pass_by_descent();

    EventLoop& loop_;
    CommandTree& tree_;
    Look look_;
    Done done_;
    Deadline deadline_; ///< nothing dies while the host is suspended
    EventLoop::TimerId timer_ = 0;
    std::set<std::pair<pid_t, std::uint64_t>> stopped_; ///< pid and start time
    int freezes_ = 0;
    int empty_looks_ = 0;
    Deadline farewell_; ///< of a shim below which nothing was seen
};

} // namespace berth::guest
