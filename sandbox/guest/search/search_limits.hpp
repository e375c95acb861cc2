#pragma once

#include "sandbox/base/deadline.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

namespace berth::guest::search {

/// When a search must end before it is through. Shared by its threads.
class SearchLimits {
  public:
    /// `milliseconds`: 0 is no limit.
    SearchLimits(std::stop_token stop, std::uint64_t milliseconds)
        : stop_(std::move(stop)), time_(std::chrono::milliseconds(milliseconds))
    {
        if (milliseconds != 0) {
            deadline_ = Deadline::after(time_);
        }
    }

    /// Until when one block of one file may be searched from now: a part of the whole time only, so
    /// that other files get theirs.
    [[nodiscard]] Deadline block_deadline() const noexcept
    {
        constexpr int blocks_at_least = 4;
        return time_.count() == 0 ? Deadline() : Deadline::after(time_ / blocks_at_least);
    }

    /// To be asked at every directory and every buffer of data.
    [[nodiscard]] bool must_stop() noexcept
    {
        if (!timed_out_ && deadline_.expired()) {
            timed_out_ = true;
        }
        return timed_out_ || stop_.stop_requested();
    }

    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

    [[nodiscard]] bool cancelled() const noexcept { return stop_.stop_requested(); }

  private:
    std::stop_token stop_;
    std::chrono::nanoseconds time_;
    Deadline deadline_;
    std::atomic<bool> timed_out_ = false;
};

} // namespace berth::guest::search
