#pragma once

#include <chrono>
#include <optional>

namespace berth {

/// CLOCK_BOOTTIME: goes on while the host is suspended and never jumps with the wall clock, so a
/// sandbox that slept for a night is a night older and a corrected clock fires no timer.
struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

/// A point in time by which something must be over, or never.
class Deadline {
  public:
    /// Never.
    Deadline() noexcept = default;

    [[nodiscard]] static Deadline after(std::chrono::nanoseconds timeout) noexcept
    {
        Deadline deadline;
        deadline.at_ = BootClock::now() + timeout;
        return deadline;
    }

    [[nodiscard]] bool is_never() const noexcept { return !at_.has_value(); }

    [[nodiscard]] bool expired() const noexcept { return at_ && BootClock::now() >= *at_; }

    /// What poll(2) and epoll_wait(2) take: -1 for never, rounded up so that a wake-up is never
    /// early (an early one would make the caller spin).
    [[nodiscard]] int poll_timeout() const noexcept;

    [[nodiscard]] std::optional<BootClock::time_point> at() const noexcept { return at_; }

    /// The earlier of two.
    [[nodiscard]] static Deadline earlier(const Deadline& a, const Deadline& b) noexcept;

  private:
    std::optional<BootClock::time_point> at_;
};

} // namespace berth
