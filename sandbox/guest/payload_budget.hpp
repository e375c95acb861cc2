#pragma once

#include "sandbox/guest/event_loop.hpp"
#include "sandbox/protocol/frame.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace berth::guest {

/// Room for large requests. The guest has 256 MiB for everything, and every connection may bring a
/// request of megabytes: one that finds no room is not read on until there is some, so that it
/// waits in the host's memory. First come, first served; what is larger than all the room gets all
/// of it. Belongs to the loop's thread.
class PayloadBudget {
  public:
    /// Beside it there are the searches' memory (Workers, BufferPermit) and that of small requests.
    static constexpr std::size_t most = 64UL * 1024 * 1024;
    /// A frame up to it needs no room.
    static constexpr std::size_t free_size = protocol::max_data_size;

    struct Limits {
        std::size_t room = most;
        /// For the next bytes of a request that has room: a host that was stopped in the midst of
        /// sending would keep all others waiting.
        std::chrono::milliseconds patience{30'000};
    };

  private:
    struct State;

  public:
    /// A place in the line, then the room itself. Given back at its end, on any thread.
    class Ticket {
      public:
        Ticket(std::shared_ptr<State> state, std::size_t bytes, EventLoop::Task granted);
        ~Ticket();
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;

        /// On the loop's thread.
        [[nodiscard]] bool granted() const noexcept { return granted_; }

      private:
        friend class PayloadBudget;

        const std::shared_ptr<State> state_;
        const std::size_t bytes_;
        const EventLoop::Task tell_;
        bool granted_ = false;
    };

    /// `loop` must outlive the budget; tickets may outlive both.
    PayloadBudget(EventLoop& loop, const Limits& limits);
    ~PayloadBudget();
    PayloadBudget(const PayloadBudget&) = delete;
    PayloadBudget& operator=(const PayloadBudget&) = delete;

    /// For a request of `size` bytes; what its operation needs for that is taken into account.
    /// `granted` is called on the loop's thread if the ticket has to wait.
    [[nodiscard]] std::shared_ptr<Ticket> ask(std::uint16_t operation, std::size_t size,
                                              EventLoop::Task granted);

    [[nodiscard]] std::chrono::milliseconds patience() const noexcept { return patience_; }

  private:
    struct State : std::enable_shared_from_this<State> {
        std::mutex mutex;
        EventLoop* loop;  ///< null when the budget is gone
        std::size_t room; ///< in all
        std::size_t left;
        std::deque<std::weak_ptr<Ticket>> waiting;

        void give_back(std::size_t bytes);
        void admit();
        [[nodiscard]] std::shared_ptr<Ticket> next();
    };

    const std::shared_ptr<State> state_;
    const std::chrono::milliseconds patience_;
};

} // namespace berth::guest
