#pragma once

#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/denials.hpp"
#include "sandbox/guest/exec/command.hpp"
#include "sandbox/guest/exec/environment.hpp"
#include "sandbox/guest/exec/forgotten_outcomes.hpp"
#include "sandbox/guest/exec/outcome.hpp"
#include "sandbox/guest/exec/output.hpp"
#include "sandbox/guest/exec/reaper.hpp"
#include "sandbox/guest/exec/spill.hpp"
#include "sandbox/guest/fair_line.hpp"
#include "sandbox/guest/job_calls.hpp"
#include "sandbox/guest/output_news.hpp"
#include "sandbox/guest/quota/quota_watch.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth::guest {

/// What the files commands*.cpp share, and nobody else sees.
struct Commands::State {
    /// A command that will be started when there is a place, or room for its processes.
    struct Delayed {
        protocol::ExecuteRequest request;
        Done done;
        std::uint64_t order;     ///< see JobEntry
        std::string keeper = {}; ///< see Outcome
        std::string notice = {};
        bool detached = false;
        std::function<void()> began = {}; ///< see Waiter
        EventLoop::TimerId timer = 0;     ///< while it waits for a place: until then
    };

    /// A job of which nothing runs any more.
    struct EndedJob {
        protocol::JobState state;
        OutputStream out;
        OutputStream err;
        Outcome outcome;
        std::string awaited;        ///< the command's id while its answer is not acknowledged
        bool made_by_break = false; ///< it was no job before its connection ended
        std::uint64_t order = 0;    ///< see JobEntry
        BootClock::time_point ended_at = BootClock::now();
    };

    State(EventLoop& loop, Workers& workers, protocol::GuestConfig config_, SessionState& session,
          OomScore oom_score_, ShellProgram shell_, std::string machine_);

    void start(const protocol::ExecuteRequest& request, const Done& done, const Waiter& waiter);
    [[nodiscard]] std::string id_of_job(std::uint64_t number) const;
    /// Once there is a place for it. Throws Error.
    void begin(const Delayed& command);

    // ---- commands_launch.cpp

    /// As start(), for the second time where its notice says why. `done` instead of its own.
    void launch(const Delayed& command, Done done);
    [[nodiscard]] std::optional<CommandCgroup> make_cgroup(const std::string& id);
    [[nodiscard]] pid_t spawn_command(SpawnOptions options, const CommandPipes& pipes,
                                      std::optional<CommandCgroup>& cgroup);

    // ---- commands_queue.cpp

    [[nodiscard]] bool has_place() const;
    [[nodiscard]] bool is_queued(const std::string& id) const;
    /// Throws Error(busy) when too many wait already.
    void queue_up(Delayed command, const std::string& asker);
    void serve_queue();
    void serve_queue_soon();
    /// A call has been answered, and was no job.
    void call_ended();
    /// By how calls have ended of late, for one that would wait behind all others: in so many
    /// seconds. Nothing where too few have.
    [[nodiscard]] std::optional<std::uint64_t> place_expected() const;
    [[nodiscard]] std::optional<Delayed> take_queued(const std::string& id);
    /// It has waited for too long.
    void give_up(const std::string& id);
    /// Its connection is gone, and it is not run. The id of the job that tells so; nothing when it
    /// is not in the queue.
    [[nodiscard]] std::optional<std::string> detach_queued(const std::string& id);

    // ---- commands_room.cpp

    /// Its `done`, but that a command which finds no process free goes to find_room() first.
    [[nodiscard]] Done with_room(const Delayed& command,
                                 std::optional<BootClock::time_point> give_up = std::nullopt);
    /// Of a command that found no process free: whether it gets another try. One by make_room(),
    /// and then some until `give_up`, which is a second after the first failure (nothing: this was
    /// it).
    [[nodiscard]] bool find_room(const Delayed& command,
                                 std::optional<BootClock::time_point> give_up = std::nullopt);
    /// No room for the shell and what it starts, though the shim itself may still find one:
    /// RLIMIT_NPROC does not bind it, and of a cgroup's processes one may just have ended.
    [[nodiscard]] bool is_crowded() const;
    /// Stops the job that has most of the processes; the command is started then. False: there is
    /// no such job.
    [[nodiscard]] bool make_room(const Delayed& command);
    void start_delayed(const std::string& id, BootClock::time_point give_up);
    /// It is not run. Where its connection broke meanwhile there is a job that tells so; its id.
    std::string refuse(const Delayed& command, const std::exception_ptr& error);
    [[nodiscard]] bool cancel_delayed(const std::string& id);

    // ---- commands_jobs.cpp

    /// Null when there is none that has not been dropped yet.
    [[nodiscard]] std::shared_ptr<Command> find_job(const std::string& job_id) const;
    /// Throws Error(not_found).
    [[nodiscard]] JobView view_job(const std::string& job_id);
    [[nodiscard]] bool was_job(const std::string& job_id) const;
    [[nodiscard]] Error unknown_job(const std::string& job_id) const;
    [[nodiscard]] Error too_many_jobs() const;
    /// `why` it is refused now.
    [[nodiscard]] Error too_many_calls(const std::string& why) const;
    /// Of those that `counts` says yes to the soonest deadline: in so many seconds there is a place
    /// again at the latest. Nothing where none has one.
    [[nodiscard]] std::optional<std::uint64_t> place_within(bool (Command::*counts)()
                                                                const noexcept) const;
    void remember(EndedJob job);
    std::string detach(const std::string& id);
    void await_again(const std::string& id);
    void acknowledge(const std::string& id);
    [[nodiscard]] protocol::JobInputReply job_input(const protocol::JobInputRequest& request);
    Commands::Waiting job_kill(const protocol::JobKillRequest& request, Commands::KillDone done);

    // ---- commands_outcomes.cpp

    /// Calls `visit(Outcome&, bool over)` for each.
    template <class Visit>
    void for_outcomes(const Visit& visit);
    /// That server's client asks for the job, and so knows of it.
    void seen(const std::string& job_id, const std::string& server);
    /// Whoever asked was told that it has ended, and how.
    void read_end(const std::string& job_id);
    /// Of an answer with that state, whose asker says when it was read (`acknowledges`) or not:
    /// whether that is waited for. Else an end that it tells is read now.
    [[nodiscard]] bool tells_end(const protocol::JobState& job, bool acknowledges);
    [[nodiscard]] bool has_unseen() const noexcept;
    void seen_all();
    /// The ids of jobs that have ended, and of which somebody is still to be told.
    [[nodiscard]] std::vector<std::string> untold_ends();
    /// Somebody was shown how these ended.
    void shown(const std::vector<std::string>& job_ids);
    [[nodiscard]] UnseenMark::Claim lend_unseen();
    void settle_claim(UnseenMark::Claim claim, bool told, const std::string& server);
    void leave(const std::function<bool(const std::string& server)>& is_here);

    // ---- commands_quota.cpp

    [[nodiscard]] std::vector<QuotaWatch::Writer> writers() const;
    void stop_for_quota(const std::string& id, const std::string& why, std::function<void()> then);

    // ----

    /// Nothing when the command is gone or has printed nothing.
    [[nodiscard]] protocol::PrintedTail newest_output(const std::string& id) const;

    [[nodiscard]] std::vector<std::shared_ptr<Command>> all() const;
    void reaped(pid_t pid, int status, const rusage& usage);
    void stopped(pid_t pid) const;
    void drop(Command& command);
    void remove_cgroups();
    [[nodiscard]] bool is_shim(pid_t pid) const;
    /// Children of the guest, among `all`, that are no shim and may be `asking`'s.
    [[nodiscard]] std::vector<pid_t> unowned_children(const Command& asking,
                                                      const std::vector<ProcessStat>& all) const;
    /// There is an orphan of which nobody can tell whose it is: of several that may be, none can
    /// prove from now on that it is stopped.
    void dispute_orphans() const;
    [[nodiscard]] std::size_t job_count() const;
    [[nodiscard]] std::size_t call_count() const;

    protocol::GuestConfig config; ///< without:
    Environment environment;
    OomScore oom_score;
    ShellProgram shell;
    std::string machine; ///< behind the number of a job
    SpillStore spill;
    RunningClock clock;
    Denials denials;
    CommandHost host;
    OutputNews news; ///< outlives the calls below, which end theirs
    bool cgroups;    ///< commands get one each
    std::uint64_t last_job = 0;
    std::uint64_t last_order = 0;    ///< of a command
    std::uint64_t order_at_rest = 0; ///< the same, when the guest was last at rest
    std::unordered_map<std::string, std::shared_ptr<Command>> commands; ///< by id
    std::unordered_map<std::string, Delayed> delayed;                   ///< for room, by id
    /// Commands that were no jobs, whose results are on their way, by id: one per connection.
    std::unordered_map<std::string, EndedJob> unacknowledged;
    Askers askers;
    FairLine<Delayed> queue{32}; ///< for a place
    std::chrono::milliseconds queue_patience = Commands::queue_patience;
    std::deque<BootClock::time_point> recent_ends; ///< of the last calls
    UnseenMark::Claim last_claim = 0;
    ForgottenOutcomes forgotten;
    std::function<void()> job_ended;   ///< set by on_job_end()
    std::function<void()> left_unseen; ///< set by on_left_unseen()
    std::list<EndedJob> ended;         ///< oldest first; iterated by nobody while the loop turns
    JobCalls job_calls;
    std::vector<CommandCgroup> emptied;      ///< that the kernel would not remove yet
    std::unique_ptr<QuotaWatch> quota_watch; ///< none: no quota
    Reaper reaper;
};

} // namespace berth::guest
