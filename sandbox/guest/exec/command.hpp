#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/denials.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/exec/command_tree.hpp"
#include "sandbox/guest/exec/limit_counts.hpp"
#include "sandbox/guest/exec/outcome.hpp"
#include "sandbox/guest/exec/output.hpp"
#include "sandbox/guest/exec/shim.hpp"
#include "sandbox/guest/exec/spawn.hpp"
#include "sandbox/guest/running_clock.hpp"
#include "sandbox/protocol/messages.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace berth::guest {

class Command;

/// What a command needs of the books it is kept in. Outlives its commands.
struct CommandHost {
    EventLoop& loop;
    const protocol::GuestConfig& config;
    SessionState& session;
    SpillStore& spill;
    const RunningClock& clock; ///< of every time limit
    std::function<bool()> job_table_full;
    std::function<std::string()> new_job_id;
    /// Children of the guest, among `all`, that no command owns yet and that may be `asking`'s,
    /// zombies included.
    std::function<std::vector<pid_t>(const Command& asking, const std::vector<ProcessStat>& all)>
        unowned_children;
    /// Nothing of the command is left: it may be dropped.
    std::function<void(Command&)> gone;
    std::function<void(const Command&)> printed; ///< the command has
    /// A job has printed something, or ended, or its shell has.
    std::function<void(const Command&)> job_changed;
    std::function<void()> left_unseen; ///< there is an outcome more that nobody was told of
    Denials& denials;
};

/// The limit on the session's processes is reached.
class OutOfProcesses : public Error {
  public:
    OutOfProcesses()
        : Error(ErrorCode::busy,
                "the command cannot be started: this session has as many processes as it may have",
                "Wait for other commands to end, or stop some.")
    {
    }
};

/// What is told of a command's text where it stands for the command.
[[nodiscard]] std::string shown_beginning(const std::string& command);

/// How the command's shell ended.
struct ShellEnd {
    int status = 0; ///< waitpid's encoding
    bool moved = false;
    std::optional<std::string> cwd; ///< empty: it has no path
    int cwd_error = 0;              ///< why
    std::optional<std::uint64_t> peak_memory;
    std::optional<std::uint64_t> cpu_time;
};

/// One command from its clone until nothing of it is left:
///
///     running ─ shell ended ─────────────────────┬→ draining → answered → gone
///        └─ timeout, cancel ─→ stopping ─────────┘      │  ↑       (a job while something of it
///                                                       └→ stopping   runs on)
///                                                (what it left is not to be kept)
///
/// A job has an id and nobody who waits for its reply: from the start on (background), from its
/// timeout on, from when its connection was gone, or because it left something running.
class Command : public std::enable_shared_from_this<Command> {
  public:
    /// `reply`: of what was left running the short names alone.
    using Done = std::function<void(protocol::ExecuteReply reply, std::exception_ptr error)>;

    /// `order`: see JobEntry; `limits`: as they stood before it began.
    Command(CommandHost& host, const protocol::ExecuteRequest& request, std::uint64_t order,
            std::string workdir, std::string notice, pid_t shim, CommandPipes pipes,
            std::optional<CommandCgroup> cgroup, const LimitCounts& limits, Done done);
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Once, after make_shared. The pipes are watched already: their events come here from now on.
    void watch();

    /// Ends all of it, also what it has left behind its answer.
    void cancel();
    /// Its connection is gone: a job from now on, or an outcome that nobody has seen.
    void detach();
    /// Its result has reached whoever asked for it.
    void acknowledged();
    /// After a detach() that nobody was told of: its result is on its way again.
    void await_again() noexcept;

    /// Its result is on its way, or will be, and was not acknowledged.
    [[nodiscard]] bool is_awaited() const noexcept { return awaited_ && !failed_; }

    [[nodiscard]] Outcome& outcome() noexcept { return outcome_; }

    /// It is a job only because the connection of its answer has ended.
    [[nodiscard]] bool is_made_by_break() const noexcept { return made_by_break_; }

    /// Every command hears of every process that the guest has reaped: its shim, its shell, one of
    /// its orphans, or nothing of its own.
    void reaped(pid_t pid, int status, const rusage& usage);

    /// Reads what the shim has said so far.
    void read_reports();

    /// Another command of the session runs at the same time: what is counted for the session need
    /// not be of this one.
    void has_company() noexcept { company_ = true; }

    /// Ends everything at once, on the caller's time: at most a second. For the end of the guest.
    void destroy() noexcept;

    [[nodiscard]] const std::string& id() const noexcept { return id_; }

    [[nodiscard]] std::uint64_t order() const noexcept { return order_; }

    /// A call that somebody waits for.
    [[nodiscard]] bool is_call() const noexcept
    {
        return phase_ < Phase::answered && job_id_.empty();
    }

    [[nodiscard]] bool is_job() const noexcept { return !job_id_.empty() && !over_; }

    /// Until its own deadline stops it, if it does not end before; nothing where it has none.
    [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const;

    /// Is one, or was one that has ended.
    [[nodiscard]] bool was_job() const noexcept { return !job_id_.empty(); }

    [[nodiscard]] const std::string& job_id() const noexcept { return job_id_; }

    [[nodiscard]] bool is_stopping() const noexcept { return phase_ == Phase::stopping; }

    /// Stops a job, and calls `then` when that is done.
    void end_job(std::function<void()> then);

    /// Stops a command, job or not, that is not being stopped yet, for the reason `why`, and calls
    /// `then` when that is done.
    void end_for_quota(const std::string& why, std::function<void()> then);

    /// When it began: later ones are greater.
    [[nodiscard]] RunningClock::time_point started() const noexcept { return started_; }

    /// Something of it runs, and is not being stopped.
    [[nodiscard]] bool is_at_work() const noexcept
    {
        const bool ends = phase_ == Phase::draining && stop_reason_ != StopReason::none;
        return !over_ && !failed_ && phase_ != Phase::stopping && !ends;
    }

    /// See written_bytes(), of all that it has started. Reads /proc.
    [[nodiscard]] std::uint64_t written();

    [[nodiscard]] protocol::JobEntry job_entry();

    // ---- of a job (command_job.cpp)

    /// Reads /proc.
    [[nodiscard]] protocol::JobState job_state();

    /// Its shell did, and how is known.
    [[nodiscard]] bool shell_ended() const noexcept { return judgement_.has_value(); }

    [[nodiscard]] const OutputStream& out() const noexcept { return out_; }

    [[nodiscard]] const OutputStream& err() const noexcept { return err_; }

    /// Both streams, closed, for the time after the command.
    [[nodiscard]] OutputStream release_out() { return std::move(out_); }

    [[nodiscard]] OutputStream release_err() { return std::move(err_); }

    /// To its standard input, all of it, with an end of file behind it if it is to be closed.
    /// Throws Error and takes nothing where there is no input that is open (unsupported, conflict)
    /// or too much waits in it (busy, too_large).
    void feed(std::string_view input, bool close);

    /// Of what feed() has taken, what is not in the pipe yet.
    [[nodiscard]] std::uint64_t waiting_input() const noexcept { return pending_input_.size(); }

    /// Sends a signal to every process of it; returns to how many.
    std::uint32_t signal_all(int number);

    /// Ends what an earlier stop could not, and calls `then` when that has been tried.
    void stop_again(std::function<void()> then);

    /// Of the last stop.
    [[nodiscard]] std::uint32_t survivors() const noexcept { return reply_.survivors; }

    /// SIGTERM for all, and the end of what is left after `grace`; nothing if it is stopping.
    void end_softly(std::chrono::milliseconds grace);

    // ---- for a pause of the session, which stops its clock too (command_stop.cpp)

    /// The guest itself has nothing to do for it: it runs as a job inside its time limit, or has
    /// ended with its shim.
    [[nodiscard]] bool is_settled() const noexcept;

    /// The time limit of a job: not watched, and watched again.
    void hold_deadline();
    void resume_deadline();

    // ----

    /// What runs of it, once its tree has adopted the orphans of a shim that was killed. Reads
    /// /proc; `unread` as for CommandTree::living.
    std::vector<ProcessStat> living(bool* unread = nullptr);

    [[nodiscard]] CommandTree& tree() noexcept { return tree_; }

    [[nodiscard]] const CommandTree& tree() const noexcept { return tree_; }

    [[nodiscard]] pid_t shell() const noexcept { return shell_; }

  private:
    enum class Phase { running, stopping, draining, answered };
    enum class StopReason { none, timed_out, cancelled, leftovers, ended };

    /// How the command ended, kept when the reply is gone.
    struct Judgement {
        protocol::Fate fate = protocol::Fate::lost;
        std::int32_t exit_code = -1;
        std::int32_t signal = 0;
        std::string notice;
        std::optional<protocol::LimitHits> limit_hits;
    };

    /// A callback that does nothing once the command is gone.
    template <class Function>
    auto guarded(Function function)
    {
        return [weak = weak_from_this(), function](auto&&...) {
            if (const auto self = weak.lock()) {
                function(*self);
            }
        };
    }

    static constexpr std::chrono::milliseconds first_gone_pause{1};
    void watch_stream(OutputStream& stream);
    /// Buffers of 64 KiB that are read once nobody writes any more: a pipe holds no more than that.
    static constexpr int last_reads = 16;
    bool read_stream(OutputStream& stream, int reads);
    void end_stream(OutputStream& stream);

    void take_report(const ShimReport& report, std::string cwd);
    void start_failed(const ShimReport& report);
    [[nodiscard]] std::exception_ptr failure(const ShimReport& report);
    void shim_ended(int status);
    void find_orphans();
    void find_orphans_soon();
    void reap_shim(int options);
    void shell_ended(ShellEnd end);
    void arm_timeout();
    void timeout_due();

    void stop(StopReason reason);
    void stopped(TreeStopper::Outcome outcome);
    void start_draining();
    void drain();
    void drain_later(BootClock::time_point when);
    [[nodiscard]] bool is_proven_empty(bool unread) const;
    void settle();
    void spill_for_host();
    void keep_as_job(const std::vector<ProcessStat>& living);
    void answer();
    void judge();
    [[nodiscard]] std::uint64_t running_time() const;
    void answer_started();
    void move_to_background();
    void set_lifetime(std::chrono::milliseconds time);
    void arm_lifetime();
    void lifetime_due();
    [[nodiscard]] std::optional<std::uint64_t> remaining() const;
    [[nodiscard]] std::string cursor() const;
    void become_over();
    /// False: nobody reads it any more.
    bool flush_input();
    void flush_input_later();
    void close_input();
    void fill_fate();
    void tell_limits();
    void tell_oom(const LimitCounts& session);
    void tell_refused_processes(const LimitCounts& session, protocol::LimitHits& hits);
    void fill_usage();
    void move_session();
    void add_notice(const std::string& text);
    void check_gone();
    void check_gone_later();

    CommandHost& host_;
    std::string id_;
    std::uint64_t order_;
    std::string text_; ///< the command's beginning
    std::string workdir_;
    std::string job_id_;
    std::chrono::milliseconds timeout_;
    bool keep_leftovers_;
    bool in_session_directory_;
    bool moves_session_;
    std::uint64_t spill_above_;
    bool background_;                    ///< goes on without its shell being waited for
    bool background_at_timeout_;         ///< it becomes so then
    std::chrono::milliseconds lifetime_; ///< of what becomes a job later; 0: not limited
    Done done_;

    Phase phase_ = Phase::running;
    StopReason stop_reason_ = StopReason::none;
    RunningClock::time_point started_ = host_.clock.now();
    BootClock::time_point drain_since_;
    BootClock::time_point drain_last_;
    EventLoop::TimerId timer_ = 0;
    EventLoop::TimerId lifetime_timer_ = 0; ///< of a job
    EventLoop::TimerId grace_timer_ = 0;
    std::optional<RunningClock::time_point> lifetime_end_;   ///< when a job is stopped
    std::string ended_by_;                                   ///< who stopped the job
    EventLoop::TimerId orphans_timer_ = 0;                   ///< 0: not set
    BootClock::time_point looked_;                           ///< for orphans, the last time
    EventLoop::TimerId gone_timer_ = 0;                      ///< 0: not set
    std::chrono::milliseconds gone_pause_{first_gone_pause}; ///< until its cgroup is looked at
    bool to_look_ = false; ///< what ended since then may have left some
    LimitCounts limits_;   ///< before it began
    bool company_ = false;
    std::uint64_t denials_before_ = host_.denials.newest(); ///< it began

    CommandTree tree_;
    std::unique_ptr<TreeStopper> stopper_;
    std::function<void()> after_stop_;
    UniqueFd report_;
    std::string report_bytes_;
    pid_t shell_ = -1;
    std::optional<ShellEnd> end_;
    bool ended_before_stop_ = false; ///< the stop was that of what it left
    bool settled_ = false;           ///< the shim has looked for what the shell left
    bool left_something_ = false;
    OutputStream out_;
    OutputStream err_;
    UniqueFd input_;
    bool had_input_;
    bool has_secrets_;
    bool close_input_ = false; ///< once what waits has been written
    bool input_watched_ = false;
    EventLoop::TimerId input_timer_ = 0; ///< where it cannot be watched
    std::string pending_input_;
    protocol::ExecuteReply reply_;
    std::optional<Judgement> judgement_;
    bool over_ = false; ///< a job: nothing of it runs any more
    bool awaited_;      ///< whoever asked for it will acknowledge the result
    Outcome outcome_;
    bool made_by_break_ = false;
    std::uint64_t final_age_ = 0;
    bool failed_ = false;  ///< the shell never ran
    bool dropped_ = false; ///< the host has been told that nothing is left
};

} // namespace berth::guest
