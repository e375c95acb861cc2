#include "sandbox/wait_for.hpp"

#include <condition_variable>
#include <mutex>

namespace berth::sandbox {

void wait_for(std::chrono::milliseconds time, const std::stop_token& stop)
{
    if (time.count() <= 0) { // before the first attempt of each call
        return;
    }
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, time, [] { return false; });
}

} // namespace berth::sandbox
