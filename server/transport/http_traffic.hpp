#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace berth::transport {

/// What has gone over the connections of a server so far. Thread-safe, without a lock.
class HttpTraffic {
  public:
    void received(std::size_t bytes) noexcept { add(received_, bytes); }

    void sent(std::size_t bytes) noexcept { add(sent_, bytes); }

    void answered(int status) noexcept
    {
        if (const auto index = static_cast<std::size_t>(status - least_status);
            index < answers_.size()) {
            add(answers_.at(index), 1);
        }
    }

    [[nodiscard]] std::uint64_t bytes_received() const noexcept { return received_; }

    [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return sent_; }

    /// Of each status that was ever answered with.
    void for_each_status(const std::function<void(int status, std::uint64_t count)>& visit) const
    {
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            if (const std::uint64_t count = answers_.at(i); count > 0) {
                visit(static_cast<int>(i) + least_status, count);
            }
        }
    }

  private:
    using Count = std::atomic<std::uint64_t>;
    static constexpr int least_status = 100;

    static void add(Count& count, std::uint64_t more) noexcept
    {
        count.fetch_add(more, std::memory_order_relaxed);
    }

    Count received_{0};
    Count sent_{0};
    std::array<Count, 500> answers_{};
};

} // namespace berth::transport
