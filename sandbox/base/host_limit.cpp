#include "sandbox/base/host_limit.hpp"

#include <cerrno>

namespace berth {

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
    default:
        return std::nullopt;
    }
}

} // namespace berth
