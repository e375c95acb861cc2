#include "sandbox/local/launcher/net.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"

#include <cstring>
#include <net/if.h>

#include <sys/ioctl.h>
#include <sys/socket.h>

namespace berth::local {

void bring_up_loopback()
{
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    require(socket.valid(), "network", "open a socket");
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    require(::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "network", "bring up lo");
}

} // namespace berth::local
