#include "sandbox/base/deadline.hpp"

#include <limits>

#include <time.h>

namespace berth {

BootClock::time_point BootClock::now() noexcept
{
    timespec ts{};
    ::clock_gettime(CLOCK_BOOTTIME, &ts);
    return time_point(std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec));
}

int Deadline::poll_timeout() const noexcept
{
    if (!at_) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now());
    if (left.count() <= 0) {
        return 0;
    }
    constexpr auto most = std::numeric_limits<int>::max();
    return left.count() > most ? most : static_cast<int>(left.count());
}

Deadline Deadline::earlier(const Deadline& a, const Deadline& b) noexcept
{
    if (!a.at_) {
        return b;
    }
    if (!b.at_) {
        return a;
    }
    return *a.at_ <= *b.at_ ? a : b;
}

} // namespace berth
