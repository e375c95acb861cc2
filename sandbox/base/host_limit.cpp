#include "sandbox/base/host_limit.hpp"

#include <cerrno>

#include <sys/resource.h>

namespace berth {
namespace {

bool is_file_size_limited()
{
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

} // namespace

std::optional<HostLimit> host_limit(int error)
{
    switch (error) {
    case EAGAIN:
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
        if (!is_file_size_limited()) {
            return std::nullopt;
        }
        return HostLimit{"berth may not write files as large as it must",
                         "raise that limit: `ulimit -f unlimited` in the shell that starts berth, "
                         "LimitFSIZE= of a service"};
    default:
        return std::nullopt;
    }
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
