#include "sandbox/guest/search/buffer_permit.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace berth::guest::search {

namespace {

struct Pool {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t left = BufferPermit::max_of_process; ///< guarded by mutex
};

Pool& pool()
{
    static Pool one;
    return one;
}

/// How long a cancellation may go unnoticed by one who waits.
constexpr std::chrono::milliseconds patience{20};

} // namespace

bool BufferPermit::acquire(std::size_t bytes, SearchLimits& limits)
{
    release();
    Pool& all = pool();
    std::unique_lock lock(all.mutex);
    while (all.left < bytes) {
        if (limits.must_stop()) {
            return false;
        }
        all.changed.wait_for(lock, patience);
    }
    all.left -= bytes;
    bytes_ = bytes;
    return true;
}

void BufferPermit::release() noexcept
{
    if (bytes_ == 0) {
        return;
    }
    Pool& all = pool();
    const std::lock_guard lock(all.mutex);
    all.left += bytes_;
    bytes_ = 0;
    all.changed.notify_all();
}

} // namespace berth::guest::search
