#pragma once

#include <chrono>
#include <optional>

namespace berth {

/// For ages and times of rest. CLOCK_BOOTTIME: goes on while the host is suspended and never jumps
/// with the wall clock, so a sandbox that slept for a night is a night older and a corrected clock
/// fires no timer.
struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

/// A point in time by which something must be over, or never. By CLOCK_MONOTONIC, as poll(2)
/// counts: what is waited for cannot come while the host is suspended, so no patience may run out
/// meanwhile, to be found expired at the wake.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    /// Never.
    Deadline() noexcept = default;

    [[nodiscard]] static Deadline after(std::chrono::nanoseconds timeout) noexcept
    {
        Deadline deadline;
        deadline.at_ = Clock::now() + timeout;
        return deadline;
    }

    [[nodiscard]] bool is_never() const noexcept { return !at_.has_value(); }

    [[nodiscard]] bool expired() const noexcept { return at_ && Clock::now() >= *at_; }

    /// What poll(2) and epoll_wait(2) take: -1 for never, rounded up so that a wake-up is never
    /// early (an early one would make the caller spin).
    [[nodiscard]] int poll_timeout() const noexcept;

    /// The earlier of two.
    [[nodiscard]] static Deadline earlier(const Deadline& a, const Deadline& b) noexcept;

  private:
    std::optional<Clock::time_point> at_;
};

} // namespace berth
