#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <stop_token>

namespace berth::sandbox {

/// Lets so many callers in at once; the others wait, first come first served. Thread-safe. As many
/// wait as the server works on at once, which is bounded (rpc.in_flight).
class Turns {
  public:
    explicit Turns(std::size_t most) : free_(most) {}

    /// A place inside; left when destroyed.
    class Turn {
      public:
        Turn() noexcept = default; ///< no place: for who needs none

        explicit Turn(Turns& turns) : turns_(&turns) {}

        ~Turn()
        {
            if (turns_ != nullptr) {
                turns_->leave();
            }
        }

        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        Turns* turns_ = nullptr;
    };

    /// Throws Error(cancelled) after a stop request while it waits.
    [[nodiscard]] Turn enter(const std::stop_token& stop);

    /// Who waits at this moment.
    [[nodiscard]] std::size_t waiting() const;

  private:
    struct Waiter;
    void leave() noexcept;

    mutable std::mutex mutex_;
    std::size_t free_;           ///< guarded by mutex_
    std::list<Waiter*> waiting_; ///< guarded by mutex_; none while a place is free
};

} // namespace berth::sandbox
