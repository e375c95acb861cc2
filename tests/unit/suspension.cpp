#include "tests/unit/suspension.hpp"

#include <atomic>
#include <ctime>

#include <dlfcn.h>
#include <sys/timerfd.h>

namespace {

std::atomic<time_t> ahead{0};

} // namespace

namespace berth::tests {

Suspension::Suspension(std::chrono::seconds time) noexcept
{
    ahead = time.count();
}

Suspension::~Suspension()
{
    ahead = 0;
}

} // namespace berth::tests

// Those of a program come before those of the C library.
extern "C" {

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's is __tp
int clock_gettime(clockid_t clock, timespec* now) noexcept
{
    using Call = int (*)(clockid_t, timespec*);
    static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "clock_gettime"));
    const int status = real(clock, now);
    if (status == 0 && clock == CLOCK_BOOTTIME) {
        now->tv_sec += ahead;
    }
    return status;
}

/// The kernel's own clock is not ahead. A time that has passed by the one that is shown fires.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's have underscores
int timerfd_settime(int fd, int flags, const itimerspec* wanted, itimerspec* before) noexcept
{
    using Call = int (*)(int, int, const itimerspec*, itimerspec*);
    static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "timerfd_settime"));
    itimerspec shifted = *wanted;
    if ((flags & TFD_TIMER_ABSTIME) != 0 && shifted.it_value.tv_sec != 0) {
        shifted.it_value.tv_sec -= ahead;
        if (shifted.it_value.tv_sec < 0) {
            shifted.it_value = {.tv_sec = 0, .tv_nsec = 1};
        }
    }
    return real(fd, flags, &shifted, before);
}
}
