#pragma once

// What the server tells the proxy of a session (berth-proxy) at its start.
//
// It is started with `policy_fd`, a memfd with an encoded Policy; with `control_fd`, its end of a
// socket (SOCK_SEQPACKET) whose other end becomes the guest's; and with a pipe as standard output:
// "R" says that it goes on by itself, anything else why it does not. On the socket the launcher
// sends one message with the two sockets of the session's loopback; from then on the proxy sends
// one encoded protocol::Denial in each message, and takes nothing. The end of the socket is the end
// of the guest, and of the proxy.

#include <cstdint>
#include <string>
#include <vector>

namespace berth::filter {

inline constexpr int control_fd = 3;
inline constexpr int policy_fd = 4;
inline constexpr char ready = 'R';

struct Policy {
    std::vector<std::string> allow;
    std::vector<std::string> deny;
    std::vector<std::string> inner;
    /// Whom a proxy that is started by root becomes.
    std::uint32_t user = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.allow);
        field(2, self.deny);
        field(3, self.inner);
        field(4, self.user);
    }
};

} // namespace berth::filter
