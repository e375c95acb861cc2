#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/protocol/on_disconnect.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::guest {

/// Decides when a session is paused, woken and ended. Pure: events and times go in, orders come
/// out; who gives the events also does what is ordered.
///
///     awake ─ freeze ─→ pausing ─ frozen() ─→ paused
///       ↑                  │                     │
///       └────── thaw ──────┴──── a call, resume ─┘
///
/// Idle is a session without a call in flight and without a job inside its time limit. It is paused
///   - when somebody asks for it, jobs or not;
///   - when it has been idle for `idle_pause`, clients or not;
///   - after the last client has left (leave_grace), as `on_disconnect` says: `now`, jobs or not;
///     `idle` as soon as it is idle; `keep` not at all, until a client has come back; `kill` ends
///     it instead. `idle` is about idleness: with an `idle_pause` of 0 it never pauses.
/// Never while a call is in flight, and not before the guest has settled what it has to do for a
/// command. That a client leaves is an event: once the session has been woken for another reason,
/// it counts no more.
class PauseController {
  public:
    using Time = BootClock::time_point;
    /// By a clock that stands still while the host is suspended.
    using AwakeTime = Deadline::Clock::time_point;

    struct Policy {
        BootClock::duration idle_pause{0}; ///< 0: idleness never pauses
        protocol::OnDisconnect on_disconnect = protocol::OnDisconnect::idle;
    };

    /// What there is at one moment.
    struct Load {
        std::size_t clients = 0;
        std::size_t calls = 0; ///< in flight
        std::size_t jobs = 0;  ///< inside their time limits
        bool settled = true;   ///< the guest has nothing to finish for a command
        AwakeTime awake{};     ///< what that clock shows
    };

    enum class State : std::uint8_t { awake, pausing, paused };

    enum class Order : std::uint8_t {
        none,
        freeze, ///< begin to; answer with frozen()
        thaw,   ///< at once, also what is only being frozen
        end,    ///< the machine
    };

    enum class Why : std::uint8_t { none, idle, left, asked };

    /// After a freeze that did not succeed nothing but a request tries again for so long; twice as
    /// long after each further one, up to the longest.
    static constexpr std::chrono::seconds retry_after{5};
    static constexpr std::chrono::minutes longest_retry{5};
    /// The last client has left when none has come for so long in which the host was awake: one
    /// that lost its connection, or another `berth call` of the same script, is back by then.
    static constexpr std::chrono::seconds leave_grace{1};
    /// When something is still to be settled, it is looked at again after so long.
    static constexpr std::chrono::milliseconds settle_step{20};

    explicit PauseController(Policy policy) noexcept : policy_(policy) {}

    /// The next look acts by it. It is about those who leave from now on, but for `keep`, by which
    /// a session that nobody is in stays awake.
    void set_policy(const Policy& policy) noexcept;

    /// Something may have changed, or time has passed.
    [[nodiscard]] Order look(const Load& load, Time now);

    /// Before a call does anything. It is in flight from the next look on.
    [[nodiscard]] Order call_begins();

    /// A pause is asked for, and holds until it is done, fails or a call comes. The next look acts.
    void ask() noexcept { asked_ = true; }

    void take_back() noexcept { asked_ = false; }

    /// Somebody asks to wake it: idleness counts from now on, and who has left before, for good or
    /// to come back within leave_grace, has only for `keep` and `kill`.
    [[nodiscard]] Order resume(Time now);

    /// What came of Order::freeze. `complete`: nothing of the commands runs. To one that was
    /// followed by a thaw no answer is needed, and none counts.
    [[nodiscard]] Order frozen(bool complete, Time now);

    [[nodiscard]] State state() const noexcept { return state_; }

    /// Of the pause that is or begins.
    [[nodiscard]] Why why() const noexcept { return why_; }

    /// When it will pause if nothing comes; nothing while it does not. That of a client which may
    /// come back within leave_grace none comes is nothing, too.
    [[nodiscard]] std::optional<Time> pauses_at() const;

    /// When it will be ended if no client comes; nothing while it is not.
    [[nodiscard]] std::optional<Time> ends_at() const;

    /// When to look again although nothing comes.
    [[nodiscard]] std::optional<Time> next_look(Time now) const;

  private:
    void notice_clients(const Load& load, Time now);
    [[nodiscard]] Why reason(Time now) const;
    [[nodiscard]] std::optional<Time> acts_at() const;
    [[nodiscard]] std::optional<Time> pauses_for_leaving_at() const;
    [[nodiscard]] std::optional<Time> due() const;
    void wake() noexcept;
    void forget_leaving() noexcept;

    Policy policy_;
    State state_ = State::awake;
    Why why_ = Why::none;
    bool attended_ = false; ///< there was a client at the last look
    bool called_ = false;   ///< a call was in flight at the last look
    bool asked_ = false;
    bool held_up_ = false; ///< there is a reason to pause, and something to be settled
    int failures_ = 0;     ///< to freeze, one after another
    std::optional<AwakeTime> alone_since_; ///< no client, though there was one
    Time back_by_{}; ///< `alone_since_`: who is not back by then has left, as of the last look
    std::optional<Time> left_at_;    ///< the last client, and nothing has woken the session since
    std::optional<Time> idle_since_; ///< nothing: it is not idle
    std::optional<Time> not_before_; ///< after a failure
};

/// "idle", "left", "asked"; empty for none.
[[nodiscard]] std::string_view to_string(PauseController::Why why) noexcept;

} // namespace berth::guest
