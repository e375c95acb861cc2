/// Loaded into a server (LD_PRELOAD): its clocks as the file BERTH_TEST_CLOCKS says, which may
/// change at any time. Three numbers of eight bytes: the seconds that the wall clock,
/// CLOCK_BOOTTIME and CLOCK_MONOTONIC are ahead. Of a host that was suspended the first two are;
/// the third stood.
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Ahead = const volatile std::int64_t*;

Ahead map_file() noexcept
{
    const char* path = std::getenv("BERTH_TEST_CLOCKS");
    const int fd = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return nullptr;
    }
    void* mapped = ::mmap(nullptr, 3 * sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return mapped == MAP_FAILED ? nullptr : static_cast<Ahead>(mapped);
}

std::int64_t ahead(clockid_t clock) noexcept
{
    static const Ahead seconds = map_file();
    if (seconds == nullptr) {
        return 0;
    }
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return seconds[0];
    case CLOCK_BOOTTIME:
        return seconds[1];
    case CLOCK_MONOTONIC:
        return seconds[2];
    default:
        return 0;
    }
}

} // namespace

extern "C" {

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's is __tp
[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) noexcept
{
    using Call = int (*)(clockid_t, timespec*);
    static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "clock_gettime"));
    const int status = real(clock, now);
    if (status == 0) {
        now->tv_sec += ahead(clock);
    }
    return status;
}

[[gnu::visibility("default")]] time_t time(time_t* now) noexcept
{
    timespec found{};
    clock_gettime(CLOCK_REALTIME, &found);
    if (now != nullptr) {
        *now = found.tv_sec;
    }
    return found.tv_sec;
}
}
