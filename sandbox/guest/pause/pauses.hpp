#pragma once

#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/call_book.hpp"
#include "sandbox/guest/pause/cgroup_freezer.hpp"
#include "sandbox/guest/pause/cgroup_v1_freezer.hpp"
#include "sandbox/guest/pause/controller.hpp"
#include "sandbox/guest/pause/memory_reclaim.hpp"
#include "sandbox/guest/pause/signal_freezer.hpp"
#include "sandbox/protocol/messages.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Pauses the session and wakes it: tells the controller what happens, and does what it orders.
/// Belongs to the loop's thread; nothing here blocks it.
class Pauses {
  public:
    struct Options {
        PauseController::Policy policy;
        int commands_cgroup_fd = -1;
        int v1_freezer_fd = -1;
        std::function<std::size_t()> clients; ///< connections of servers that work here
        std::function<void()> end;            ///< ends the guest
        MemoryReclaim* reclaim = nullptr;     ///< if any, it is told
    };

    using Done = std::function<void(const protocol::PauseReply& reply, std::exception_ptr error)>;

    /// A request to pause waits for so long until what the guest is finishing is finished.
    static constexpr std::chrono::seconds patience{5};

    Pauses(EventLoop& loop, Commands& commands, Options options);
    ~Pauses();
    Pauses(const Pauses&) = delete;
    Pauses& operator=(const Pauses&) = delete;

    /// Wakes the session: when this returns, its processes run. It sleeps no more while the ticket
    /// exists. `what`: see CallBook::Ticket::say.
    [[nodiscard]] std::shared_ptr<CallBook::Ticket> begin_call(std::string_view what);

    /// The guest ends, and its commands can be killed from now on: nothing is decided any more,
    /// whatever still happens to them.
    void close() noexcept;

    /// After close() and the end of the commands: what is left of them runs on, as it would have.
    void release() noexcept;

    [[nodiscard]] const PauseController::Policy& policy() const noexcept { return options_.policy; }

    void set_policy(const PauseController::Policy& policy);

    /// A client has come or left.
    void clients_changed() { look(); }

    /// Freezes the session, its jobs too. Answered once, from the loop. Error(busy) names the call
    /// that is in flight, or has come meanwhile; or that something cannot be frozen; then
    /// nothing is.
    void pause(Done done);

    protocol::ResumeReply resume();

    [[nodiscard]] bool is_paused() const noexcept
    {
        return controller_.state() == PauseController::State::paused;
    }

    [[nodiscard]] std::size_t calls() const noexcept { return book_.size(); }

    /// For a guest at rest.
    void forget_readings() noexcept { cgroup_.forget_reading(); }

    /// Of `ends_in` only what the leaving of its clients brings.
    [[nodiscard]] protocol::PauseState describe() const;

  private:
    [[nodiscard]] PauseController::Load load() const;
    [[nodiscard]] Freezer& freezer() noexcept;
    [[nodiscard]] const Freezer& freezer() const noexcept;
    void look();
    void obey(PauseController::Order order);
    void freeze();
    void thaw();
    void arm();
    [[nodiscard]] protocol::PauseReply reply(bool was_paused) const;
    void answer(const std::exception_ptr& error);
    void give_up();

    EventLoop& loop_;
    Commands& commands_;
    Options options_;
    PauseController controller_;
    CallBook book_;
    CgroupFreezer cgroup_;
    CgroupV1Freezer cgroup_v1_;
    SignalFreezer signals_;
    Freezer* active_ = nullptr; ///< what thaw() has to undo
    bool closed_ = false;
    BootClock::time_point paused_at_;
    EventLoop::TimerId timer_ = 0; ///< 0: not set
    BootClock::time_point timer_at_;
    EventLoop::TimerId patience_timer_ = 0;
    std::vector<Done> asking_; ///< for a pause
};

} // namespace berth::guest
