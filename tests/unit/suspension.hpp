#pragma once

#include <chrono>

namespace berth::tests {

/// What a program sees of a host that was suspended for so long just now, for as long as this
/// lives: CLOCK_BOOTTIME is ahead, timers on it that were waiting have fired, CLOCK_MONOTONIC
/// stood. One at a time; of other threads nothing is promised.
class Suspension {
  public:
    explicit Suspension(std::chrono::seconds time) noexcept;
    ~Suspension();
    Suspension(const Suspension&) = delete;
    Suspension& operator=(const Suspension&) = delete;
};

} // namespace berth::tests
