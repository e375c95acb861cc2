#pragma once

#include "sandbox/guest/search/search_limits.hpp"

#include <cstddef>

namespace berth::guest::search {

/// Leave to use a large buffer. Every thread of every search of the process may need megabytes,
/// and together they would be more than the guest has: they wait for each other instead. A thread
/// holds one at a time, for all that it will need, so that none waits for another one that waits.
class BufferPermit {
  public:
    static constexpr std::size_t max_of_process = 32U << 20;

    BufferPermit() = default;
    BufferPermit(const BufferPermit&) = delete;
    BufferPermit& operator=(const BufferPermit&) = delete;

    ~BufferPermit() { release(); }

    /// Waits. False when the limits ended the wait. `bytes`: at most max_of_process.
    [[nodiscard]] bool acquire(std::size_t bytes, SearchLimits& limits);
    void release() noexcept;

    [[nodiscard]] bool held() const noexcept { return bytes_ != 0; }

  private:
    std::size_t bytes_ = 0;
};

} // namespace berth::guest::search
