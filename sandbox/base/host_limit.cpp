#include "sandbox/base/host_limit.hpp"

#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace berth {
namespace {

using Resource = decltype(RLIMIT_AS); // an enumeration here, an int elsewhere

bool is_limited(Resource resource)
{
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Whether a thread could still get its stack, and as much again for what was freed since it could
/// not.
bool has_room(int protection)
{
    std::size_t size = 0;
    pthread_attr_t attributes;
    if (::pthread_getattr_default_np(&attributes) != 0) {
        return false;
    }
    ::pthread_attr_getstacksize(&attributes, &size);
    ::pthread_attr_destroy(&attributes);
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const room = ::mmap(nullptr, 2 * size, protection, flags, -1, 0);
    return room != MAP_FAILED && ::munmap(room, 2 * size) == 0;
}

/// Which limit leaves no room; nothing when none does. Only what may be written counts as data.
std::optional<HostLimit> memory_limit()
{
    if (is_limited(RLIMIT_AS) && !has_room(PROT_NONE)) {
        return HostLimit{"berth has as much address space as it may have",
                         "raise that limit: `ulimit -v unlimited` in the shell that starts berth, "
                         "LimitAS= of a service"};
    }
    if (is_limited(RLIMIT_DATA) && !has_room(PROT_READ | PROT_WRITE)) {
        return HostLimit{"berth has as much memory for its data as it may have",
                         "raise that limit: `ulimit -d unlimited` in the shell that starts berth, "
                         "LimitDATA= of a service"};
    }
    return std::nullopt;
}

} // namespace

std::optional<HostLimit> host_limit(const std::exception& error)
{
    if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
        return host_limit(system->code().value());
    }
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? host_limit(ENOMEM)
                                                                  : std::nullopt;
}

std::optional<HostLimit> host_limit(int error)
{
    switch (error) {
    case ENOMEM:
        return memory_limit();
    case EAGAIN:
        if (auto limit = memory_limit()) {
            return limit;
        }
        return HostLimit{"the user who runs berth has as many processes as it may have",
                         "raise that limit: `ulimit -u` in the shell that starts berth, TasksMax= "
                         "and LimitNPROC= of a service, --pids-limit of a container"};
    case EMFILE:
        return HostLimit{"berth has as many files open as it may have",
                         "raise that limit: `ulimit -n 1024` in the shell that starts berth, "
                         "LimitNOFILE= of a service"};
    case ENFILE:
        return HostLimit{"the host has as many files open as it may have",
                         "sysctl -w fs.file-max=1000000"};
    case EFBIG: // also of a file system that has no files as large
        if (!is_limited(RLIMIT_FSIZE)) {
            return std::nullopt;
        }
        return HostLimit{"berth may not write files as large as it must",
                         "raise that limit: `ulimit -f unlimited` in the shell that starts berth, "
                         "LimitFSIZE= of a service"};
    default:
        return std::nullopt;
    }
}

std::optional<HostLimit> little_time()
{
    constexpr rlim_t least = 60;
    rlimit limit{};
    if (::getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max >= least) {
        return std::nullopt;
    }
    const rlimit raised{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (::setrlimit(RLIMIT_CPU, &raised) == 0) {
        return std::nullopt;
    }
    return HostLimit{"berth and its sandboxes may use no more than " +
                         std::to_string(limit.rlim_max) + " s of processor time each",
                     "raise that limit: `ulimit -t unlimited` in the shell that starts berth, "
                     "LimitCPU= of a service"};
}

std::optional<HostLimit> small_stack()
{
    constexpr rlim_t least = 256UL * 1024;
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least) {
        return std::nullopt;
    }
    return HostLimit{"berth's stack may have no more than " +
                         std::to_string(limit.rlim_cur / 1024) + " KiB, and it needs 256",
                     "raise that limit: `ulimit -s 8192` in the shell that starts berth, "
                     "LimitSTACK= of a service"};
}

} // namespace berth
