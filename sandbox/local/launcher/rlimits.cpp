#include "sandbox/local/launcher/rlimits.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace berth::local {
namespace {

using Resource = __rlimit_resource_t;

/// As far as it may be: root raises what cannot be raised again by others.
void widen(Resource resource, rlim_t least = RLIM_INFINITY)
{
    rlimit now{};
    require(::getrlimit(resource, &now) == 0, "rlimits", "getrlimit");
    const rlimit wanted{.rlim_cur = std::max(now.rlim_cur, least), .rlim_max = RLIM_INFINITY};
    if (::setrlimit(resource, &wanted) != 0) {
        now.rlim_cur = std::min(now.rlim_max, wanted.rlim_cur);
        require(::setrlimit(resource, &now) == 0, "rlimits", "setrlimit");
    }
}

/// For good, or lower where whoever starts the launcher may not have that much.
void fix(Resource resource, rlim_t value)
{
    rlimit now{};
    require(::getrlimit(resource, &now) == 0, "rlimits", "getrlimit");
    const rlim_t most = std::min(now.rlim_max, value);
    const rlimit fixed{.rlim_cur = most, .rlim_max = most};
    require(::setrlimit(resource, &fixed) == 0, "rlimits", "setrlimit");
}

/// What is there for a user, divided.
void fix_to_share(Resource resource, rlim_t least, rlim_t most)
{
    constexpr rlim_t sessions_for_all = 16;
    rlimit now{};
    require(::getrlimit(resource, &now) == 0, "rlimits", "getrlimit");
    fix(resource, std::clamp(now.rlim_max / sessions_for_all, least, most));
}

} // namespace

void set_resource_limits()
{
    // Those of the shell that happened to start the first server are nobody's wish for a machine
    // that serves all who come: a guest under `ulimit -t` is killed in the midst of a later call.
    for (const auto resource :
         {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_RTTIME}) {
        widen(resource);
    }
    constexpr rlim_t usual_stack = 8UL * 1024 * 1024; // without a limit the kernel lays out memory
    widen(RLIMIT_STACK, usual_stack);                 // in another way
    // A core file holds what the process knew, and a host's core_pattern runs a program on it, with
    // root's rights and outside. That it does under the limit 0 too, and under 1 alone it does not
    // (core_pattern's own guard against a handler that crashes); the filter keeps it at that.
    fix(RLIMIT_CORE, 1);
    // Of a user who may have a sound server go before everything else, commands may not.
    fix(RLIMIT_RTPRIO, 0);
    fix(RLIMIT_NICE, 0);
    rlimit files{};
    require(::getrlimit(RLIMIT_NOFILE, &files) == 0, "rlimits", "getrlimit RLIMIT_NOFILE");
    files.rlim_cur = files.rlim_max;
    require(::setrlimit(RLIMIT_NOFILE, &files) == 0, "rlimits", "RLIMIT_NOFILE");
}

void limit_pending_signals()
{
    constexpr rlim_t most = 4096; // of programs that use any, few have more than some hundred
    fix_to_share(RLIMIT_SIGPENDING, 0, most);
}

void limit_locked_memory()
{
    // What locks memory are mostly programs with keys, some pages; gpg wants 32 KiB.
    constexpr rlim_t least = 64UL * 1024;
    constexpr rlim_t most = 512UL * 1024;
    fix_to_share(RLIMIT_MEMLOCK, least, most);
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
