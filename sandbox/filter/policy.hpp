#pragma once

// What the server tells the proxy of a session (berth-proxy) at its start.
//
// It is started with `policy_fd`, a memfd with an encoded Policy; with `control_fd`, its end of a
// socket (SOCK_SEQPACKET) whose other end becomes the guest's; and with a pipe as standard output:
// "R" says that it goes on by itself, anything else why it does not. Behind it are its pid, a line,
// and, in PEM, the certificate of its authority, where TLS is opened. On the socket the launcher
// sends one message with the two sockets of the session's loopback; from then on the proxy sends
// one encoded protocol::Denial in each message, and takes nothing. The end of the socket is the end
// of the guest, and of the proxy.
//
// With `secrets_fd`, a listening unix socket, where the policy has secrets: each connection there
// brings one encoded SecretValues to its end, and hears `taken` once the proxy goes by it. Their
// values come this way alone, anew with each command: the policy is that of the machine's start.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::filter {

inline constexpr int control_fd = 3;
inline constexpr int policy_fd = 4;
inline constexpr int secrets_fd = 5;
inline constexpr char ready = 'R';
inline constexpr char taken = 'T';

/// Connections of a session at once; one more waits until another ends.
inline constexpr std::size_t most_clients = 256;
/// One for each and for each that has ended a moment ago, and those that accept them and take
/// secrets.
inline constexpr std::size_t most_threads = 2 * most_clients + 2;

/// A secret of which the sandbox has the placeholder alone.
struct WithheldSecret {
    std::string name;
    std::string placeholder;
    std::vector<std::string> places; ///< as parse_secret_place() takes them

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.name);
        field(2, self.placeholder);
        field(3, self.places);
    }
};

struct SecretValue {
    std::string name;
    std::string value;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.name);
        field(2, self.value);
    }
};

struct SecretValues {
    std::vector<SecretValue> values;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.values);
    }
};

/// Far above what secrets of a session come to.
inline constexpr std::size_t longest_secret_values = 1024UL * 1024;

struct Policy {
    std::vector<std::string> allow;
    std::vector<std::string> deny;
    std::vector<std::string> inner;
    /// Whom a proxy that is started by root becomes.
    std::uint32_t user = 0;
    /// Who may bring values, beside root: the user of the servers.
    std::uint32_t server = 0;
    std::vector<WithheldSecret> secrets;
    /// Who certifies the servers to which TLS is opened, a file; empty: whom the host trusts.
    std::string certificates;
    /// Bytes that all its connections together may send; 0: as many as they like.
    std::uint64_t max_sent = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.allow);
        field(2, self.deny);
        field(3, self.inner);
        field(4, self.user);
        field(5, self.server);
        field(6, self.secrets);
        field(7, self.certificates);
        field(8, self.max_sent);
    }
};

} // namespace berth::filter
