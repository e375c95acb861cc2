#include "sandbox/base/file_lock.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <sys/file.h>

namespace berth {

bool flock_until(int fd, int operation, const Deadline& deadline)
{
    constexpr std::chrono::microseconds longest_pause{10'000};
    std::chrono::microseconds pause{50};
    while (::flock(fd, operation | LOCK_NB) != 0) {
        if (errno != EINTR && errno != EWOULDBLOCK) {
            throw_errno("flock");
        }
        if (deadline.expired()) {
            return false;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
    return true;
}

} // namespace berth
