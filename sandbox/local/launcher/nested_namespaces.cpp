#include "sandbox/local/launcher/nested_namespaces.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {

bool close_nested_namespaces(const Root& root)
{
    const UniqueFd fd(::openat(root.fd(), "proc/sys/user/max_user_namespaces",
                               O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd && ::write(fd.get(), "0", 1) == 1;
}

} // namespace berth::local
