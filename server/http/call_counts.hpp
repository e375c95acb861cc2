#pragma once

#include "server/http/metric_text.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::server::http {

/// How many calls of each tool have ended how, and how long they took. Of whom they were is not
/// counted: who makes names up would make the numbers of them, and so the memory and the answer,
/// as many as he likes. Thread-safe, without a lock.
class CallCounts {
  public:
    /// Upper ends in seconds; what takes longer is in one more.
    static constexpr std::array<double, 20> buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                    0.25,  0.5,    1,     2.5,  5,     10,   30,
                                                    60,    120,    300,   600,  1800,  7200};

    CallCounts();

    /// `tool`: its own name, in whatever dialect it was called; `outcome`: "ok" or the word of an
    /// error. Others, which there are not, are not counted.
    void add(std::string_view tool, std::string_view outcome,
             std::chrono::microseconds duration) noexcept;

    void write(MetricText& text) const;

  private:
    using Count = std::atomic<std::uint64_t>;
    static constexpr std::size_t outcomes = 22; ///< ok, and every ErrorCode

    struct Tool {
        std::array<Count, outcomes> ended{};
        std::array<Count, buckets.size() + 1> within{};
        Count microseconds{0};
    };

    std::vector<Tool> tools_; ///< as in tools::all_tools()
};

} // namespace berth::server::http
