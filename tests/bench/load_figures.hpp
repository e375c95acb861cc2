#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

namespace berth::bench {

using Clock = std::chrono::steady_clock;

/// What some seconds of calls were like.
class Figures {
  public:
    void answered(Clock::duration time)
    {
        times_.push_back(std::chrono::duration<float, std::micro>(time).count());
    }

    /// An answer that says that the call has failed: a server that refuses is fast.
    void failed() { ++failed_; }

    /// One line: calls that were answered, of them failed, seconds, of them the generator's
    /// processor, microseconds of p50 and p99.
    void print()
    {
        const std::chrono::duration<double> seconds = Clock::now() - began_;
        std::ranges::sort(times_);
        std::printf("%zu %zu %.4f %.4f %.1f %.1f\n", times_.size(), failed_, seconds.count(),
                    processor() - processor_, at(0.5), at(0.99));
        (void)std::fflush(stdout);
    }

  private:
    [[nodiscard]] double at(double part) const
    {
        const auto index = static_cast<std::size_t>(static_cast<double>(times_.size()) * part);
        return times_.empty() ? 0 : static_cast<double>(times_[std::min(index, times_.size() - 1)]);
    }

    static double processor()
    {
        return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
    }

    std::vector<float> times_;
    std::size_t failed_ = 0;
    Clock::time_point began_ = Clock::now();
    double processor_ = processor();
};

/// Of an answer as both servers write it, without reading it: that would take longer than to make
/// it.
[[nodiscard]] inline bool has_failed(std::string_view answer)
{
    return answer.find("\"result\":") == std::string_view::npos ||
           answer.find("\"isError\":true") != std::string_view::npos;
}

} // namespace berth::bench
