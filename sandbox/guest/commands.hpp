#pragma once

#include "sandbox/base/process_stat.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/exec/oom_score.hpp"
#include "sandbox/guest/exec/spawn.hpp"
#include "sandbox/guest/job_calls.hpp"
#include "sandbox/guest/output_news.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/protocol/messages.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace berth::guest {

/// Runs the commands of a session and keeps the books of what they leave behind. Belongs to the
/// loop's thread; nothing here blocks it. Also the reaper of every process of the session (the
/// guest is its pid 1, or a subreaper): nobody else may call wait.
class Commands {
  public:
    /// Exactly one call for each started command: the reply, or the Error that kept it from
    /// running.
    using Done = std::function<void(protocol::ExecuteReply reply, std::exception_ptr error)>;

    /// `machine` ends the id of every job (job-1-7c3e), so that one from before, when the session
    /// had another machine, names no job of this one; empty: they have none (job-1). `workers` are
    /// for what may not block the loop, which must outlive their jobs.
    Commands(EventLoop& loop, Workers& workers, protocol::GuestConfig config, SessionState& session,
             OomScore oom_score = {}, ShellProgram shell = ShellProgram::find(),
             std::string machine = {});
    ~Commands();
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;

    /// For whom a call about a job is.
    struct Asker {
        std::string name;   ///< see Workers::run
        std::string server; ///< see Outcome::keeper
    };

    /// Of a command that may have to wait for its turn.
    struct Waiter {
        std::string asker = {};  ///< for whom: those of a session take turns
        std::string server = {}; ///< see Outcome::keeper
        std::function<void()> began =
            {}; ///< called when it runs: nobody needs the request any more
    };

    /// How long a command waits for a place among those that may run at once, unless told another.
    static constexpr std::chrono::seconds queue_patience{3};

    /// Throws Error (busy, empty_command, invalid_argument, invalid_path ...) before anything runs.
    /// Where there is no place or no process for it, it may wait for a moment, and is answered busy
    /// then.
    void start(const protocol::ExecuteRequest& request, const Done& done, const Waiter& waiter);

    void start(const protocol::ExecuteRequest& request, const Done& done)
    {
        start(request, done, Waiter());
    }

    /// Instead of queue_patience.
    void wait_for_places(std::chrono::milliseconds patience) noexcept;

    /// The host wants no more of it: the whole tree is stopped, the reply has fate cancelled. The
    /// same path as a timeout. Nothing happens when it is not running.
    void cancel(const std::string& id);

    /// From now on commands that make the home too large are stopped. At most once, before the
    /// first command.
    void watch_quota(Workers& workers, std::shared_ptr<HomeQuota> quota);

    /// How many may run at once and what each may have and finds in its environment, from now on;
    /// removes from `wanted` what is not limited here.
    void change_limits(protocol::Terms& wanted);

    /// The connection of a command is gone. It goes on as a job: nobody is answered. One that waits
    /// for a place is never run, and the job says so. One that was
    /// answered, and the answer not acknowledged, has been a job: nobody has seen how it ended.
    /// Returns the job's id; empty where it is not known yet.
    std::string detach(const std::string& id);

    /// What is told of a command that is about to be started.
    struct Asked {
        std::string id;
        std::string command;     ///< its beginning
        std::uint64_t order = 0; ///< see JobEntry
    };

    [[nodiscard]] Asked asked(const protocol::ExecuteRequest& request) const;

    /// It was answered that it is not run, and why, and that has reached nobody: a job says so.
    void note_not_run(const Asked& asked, const std::exception_ptr& error);

    /// Its answer is on its way once more, and to be acknowledged: unless somebody was told of it
    /// meanwhile, it is as if detach() had not been.
    void await_again(const std::string& id);

    /// Its result has reached whoever asked for the command (ExecuteRequest::acknowledge).
    void acknowledge(const std::string& id);

    /// Whether any is marked as unseen, or was and is forgotten, and nobody is about to tell it.
    [[nodiscard]] bool has_unseen() const noexcept;

    /// Whether any is marked as unread: see JobEntry.
    [[nodiscard]] bool has_unread() const;

    /// Whoever was told that this job has ended, and how, has read it.
    void read_end(const std::string& job_id);

    /// Somebody tells the agent of all jobs that are marked as unseen.
    void seen_all();

    /// Of the jobs that ended_jobs() lists now those of which somebody is still to be told, for
    /// shown(): how they ended is known then.
    [[nodiscard]] std::vector<std::string> untold_ends();
    void shown(const std::vector<std::string>& job_ids);

    /// As seen_all(), of somebody who says when it is done: meanwhile none of them is marked, and
    /// nobody else is told. A number for that; 0: nothing is marked.
    [[nodiscard]] std::uint64_t lend_unseen();
    /// Whether the agent was told of what has that number, which is that server's; else all of it
    /// is marked again but what somebody has asked for since.
    void settle_claim(std::uint64_t claim, bool told, const std::string& server = {});

    /// A server has gone. Of jobs that no server which `is_here` knows of, the end is one that
    /// nobody has seen: of those that have ended now, of the others once they do.
    void leave(const std::function<bool(const std::string& server)>& is_here);

    /// `unseen` is called when there is one more for has_unseen(): a connection has ended before
    /// its answer was read, a job that leave() has counted has, or a notice reached nobody.
    void on_left_unseen(std::function<void()> unseen);

    /// Results that reached nobody and that were dropped for newer ones; claimed with the marks.
    [[nodiscard]] std::uint32_t forgotten_unseen() const noexcept;

    /// The same of jobs that somebody knows of who is here.
    [[nodiscard]] std::uint32_t forgotten_expected() const noexcept;

    /// The same of those that somebody is about to tell.
    [[nodiscard]] std::uint32_t forgotten_lent() const noexcept;

    /// See protocol::InfoReply.
    [[nodiscard]] std::optional<std::uint64_t> open_files() const noexcept;

    [[nodiscard]] std::vector<protocol::JobEntry> jobs() const;

    /// The last that did, oldest first.
    [[nodiscard]] std::vector<protocol::JobEntry> ended_jobs() const;

    using Waiting = JobCalls::Id;
    using KillDone = std::function<void(protocol::JobKillReply reply, std::exception_ptr error)>;

    // ---- of jobs, running or remembered; all throw Error(not_found) for any other

    /// Throws Error(invalid_argument) for a bad cursor or filter. Of an answer that is to be
    /// acknowledged (JobOutputReply::acknowledge) read_end() says that it was; so of job_kill().
    Waiting job_output(const protocol::JobOutputRequest& request, JobCalls::OutputDone done,
                       const Asker& asker = {});

    /// Throws Error as Command::feed does.
    [[nodiscard]] protocol::JobInputReply job_input(const protocol::JobInputRequest& request,
                                                    const Asker& asker = {});

    /// Answered at once for a signal that is only sent, else when nothing of the job runs.
    Waiting job_kill(const protocol::JobKillRequest& request, KillDone done,
                     const Asker& asker = {});

    /// Nobody waits for the answer any more; what was asked for goes on.
    void drop(Waiting call);

    // ----

    /// Tells what the command of this id prints, or the job, until the result is destroyed, which
    /// has to be before this is. See OutputNews::add.
    [[nodiscard]] std::shared_ptr<void>
    tell_output(const std::string& id, std::chrono::milliseconds apart, OutputNews::Tell tell);

    [[nodiscard]] std::size_t running() const noexcept;

    // ---- for a pause of the session (commands_pause.cpp)

    [[nodiscard]] std::size_t job_count() const;

    /// Commands that will be started when there is a place or a process for them.
    [[nodiscard]] bool has_delayed() const;

    /// Nothing is in flight that the guest itself has to go on with: every command is a job inside
    /// its time limit, or has ended without remains.
    [[nodiscard]] bool is_settled() const;

    /// `ended` is called, perhaps from within a callback of any command, when a job has.
    void on_job_end(std::function<void()> ended);

    /// Time limits stand still, and go on. Only while is_settled().
    void hold_clocks();
    void resume_clocks();

    /// Every process of the session but the guest and the shims. Reads /proc; `unread`, if given,
    /// is set when there may be more.
    [[nodiscard]] std::vector<ProcessStat> processes(bool* unread = nullptr) const;

    /// All that runs is in the cgroup that the config names.
    [[nodiscard]] bool in_cgroups() const noexcept;

    // ----

    /// What stops a command for sure here: "cgroup-kill" or "subreaper", plus other layers.
    [[nodiscard]] std::vector<std::string> layers() const;

    /// For a guest at rest: see forget_reading().
    void forget_readings() noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace berth::guest
