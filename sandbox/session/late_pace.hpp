#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace berth::session {

/// How often somebody looks for machines that may still come of creations which were given up. Each
/// pause is twice as long as the one before: so what comes is not there for much longer than it
/// took to come, the fifth look is after E2B has given up, and the last one after the books let go
/// of its number (late_machines.cpp).
class LatePace {
  public:
    static constexpr std::chrono::seconds first{5};

    /// Until the next look, where at the last one so many were awaited. Nothing: none is due.
    std::optional<std::chrono::seconds> next(std::size_t late) noexcept
    {
        if (late == 0 || pause_ > last) {
            pause_ = first;
            return std::nullopt;
        }
        return std::exchange(pause_, pause_ * 2);
    }

  private:
    static constexpr std::chrono::seconds last{160};

    std::chrono::seconds pause_ = first;
};

} // namespace berth::session
