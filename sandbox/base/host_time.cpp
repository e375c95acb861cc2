#include "sandbox/base/host_time.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/io.hpp"

#include <fcntl.h>

namespace berth {

std::string boot_id()
{
    auto id = read_file_limited(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
    while (!id.empty() && id.back() == '\n') {
        id.pop_back();
    }
    return id;
}

HostTime HostTime::now()
{
    using std::chrono::duration_cast;
    using std::chrono::seconds;
    return {.boot = boot_id(),
            .up = duration_cast<seconds>(BootClock::now().time_since_epoch()),
            .wall = duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())};
}

} // namespace berth
