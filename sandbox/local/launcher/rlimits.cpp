#include "sandbox/local/launcher/rlimits.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace berth::local {

void set_resource_limits()
{
    // A core file holds what the process knew, and a host's core_pattern runs a program on it.
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    require(::setrlimit(RLIMIT_CORE, &none) == 0, "rlimits", "RLIMIT_CORE");
    rlimit files{};
    require(::getrlimit(RLIMIT_NOFILE, &files) == 0, "rlimits", "getrlimit RLIMIT_NOFILE");
    files.rlim_cur = files.rlim_max;
    require(::setrlimit(RLIMIT_NOFILE, &files) == 0, "rlimits", "RLIMIT_NOFILE");
}

void give_up_oom_protection() noexcept
{
    const UniqueFd file(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
    char first = 0;
    if (file && ::pread(file.get(), &first, 1, 0) == 1 && first == '-') {
        (void)!::pwrite(file.get(), "0", 1, 0);
    }
}

} // namespace berth::local
