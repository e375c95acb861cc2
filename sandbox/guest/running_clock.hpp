#pragma once

#include <chrono>
#include <optional>

namespace berth::guest {

/// The time in which the commands of a session may run: it stands still with the host, as
/// CLOCK_MONOTONIC does, and while the session is paused. Time limits are measured by it, so that
/// none runs out, and none fires in arrears, for time that a command did not have. Belongs to the
/// loop's thread.
class RunningClock {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    [[nodiscard]] time_point now() const noexcept
    {
        return stopped_.value_or(std::chrono::steady_clock::now()) - stood_;
    }

    void stop() noexcept
    {
        if (!stopped_) {
            stopped_ = std::chrono::steady_clock::now();
        }
    }

    void go_on() noexcept
    {
        if (stopped_) {
            stood_ += std::chrono::steady_clock::now() - *stopped_;
            stopped_.reset();
        }
    }

  private:
    std::optional<time_point> stopped_; ///< by the host's clock
    std::chrono::steady_clock::duration stood_{0};
};

} // namespace berth::guest
