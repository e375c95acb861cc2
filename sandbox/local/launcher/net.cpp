#include "sandbox/local/launcher/net.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/protocol/filtered_network.hpp"

#include <cstdint>
#include <cstring>
#include <net/if.h>

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace berth::local {

namespace {

/// Of loopback, for nobody else to take.
UniqueFd bound(int type, std::uint16_t port)
{
    UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    require(socket.valid(), "network", "open a socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
            "network", "bind a port of loopback");
    return socket;
}

} // namespace

void bring_up_loopback()
{
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    require(socket.valid(), "network", "open a socket");
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    require(::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "network", "bring up lo");
}

void hand_out_sockets(int proxy)
{
    constexpr int waiting = 128;
    const UniqueFd connections = bound(SOCK_STREAM, protocol::proxy_port);
    require(::listen(connections.get(), waiting) == 0, "network", "listen for the proxy");
    const UniqueFd names = bound(SOCK_DGRAM, protocol::name_port);
    require(send_descriptors(proxy, "S", {connections.get(), names.get()}), "network",
            "hand the sockets to the proxy");
}

} // namespace berth::local
