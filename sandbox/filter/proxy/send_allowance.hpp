#pragma once

#include "sandbox/protocol/messages.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

namespace berth::filter {

/// What a session may still send to its network, heads of requests and handshakes included. Safe
/// for several threads.
class SendAllowance {
  public:
    explicit SendAllowance(std::uint64_t most) noexcept : most_(most), left_(most) {}

    /// False: less than that is left, and from here on nothing.
    [[nodiscard]] bool take(std::uint64_t bytes) noexcept
    {
        auto left = left_.load();
        while (!left_.compare_exchange_weak(left, left - std::min(left, bytes))) {
        }
        return left >= bytes;
    }

    [[nodiscard]] bool is_spent() const noexcept { return left_ == 0; }

    /// What is told of what was not sent for it.
    [[nodiscard]] protocol::Denial denial(std::string target) const;

  private:
    const std::uint64_t most_;
    std::atomic<std::uint64_t> left_;
};

} // namespace berth::filter
