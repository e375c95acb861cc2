#include "server/http/listener.hpp"

#include "sandbox/base/error.hpp"
#include "server/options/http_options.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth::server::http {
namespace {

constexpr int backlog = 1024;
constexpr int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

/// The socket API's one type for all addresses.
template <class Address>
const sockaddr* as_sockaddr(const Address& address)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bind(2) asks for it
    return reinterpret_cast<const sockaddr*>(&address);
}

[[noreturn]] void fail(const std::string& what, int error, const std::string& hint)
{
    throw Error(ErrorCode::sandbox_unavailable,
                what + ": " + std::generic_category().message(error), hint);
}

template <class Address>
void bind_and_listen(const UniqueFd& socket, const Address& address, socklen_t size,
                     const std::string& where)
{
    const std::string hint =
        "Another program listens there, or it is not this host's. Say another: --http "
        "127.0.0.1:0 takes any free port.";
    if (!socket || ::bind(socket.get(), as_sockaddr(address), size) != 0 ||
        ::listen(socket.get(), backlog) != 0) {
        fail("cannot listen on " + where, errno, hint);
    }
}

UniqueFd listen_v4(const HttpAddress& wanted, const std::string& where)
{
    UniqueFd socket(::socket(AF_INET, flags, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(wanted.port)};
    ::inet_pton(AF_INET, wanted.address.c_str(), &address.sin_addr);
    bind_and_listen(socket, address, sizeof(address), where);
    return socket;
}

UniqueFd listen_v6(const HttpAddress& wanted, const std::string& where)
{
    UniqueFd socket(::socket(AF_INET6, flags, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    sockaddr_in6 address{.sin6_family = AF_INET6, .sin6_port = htons(wanted.port)};
    ::inet_pton(AF_INET6, wanted.address.c_str(), &address.sin6_addr);
    bind_and_listen(socket, address, sizeof(address), where);
    return socket;
}

std::uint16_t port_of(const UniqueFd& socket)
{
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): getsockname(2) asks for it
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    in_port_t port = 0; // at the same place for both families
    std::memcpy(&port, reinterpret_cast<const char*>(&bound) + offsetof(sockaddr_in, sin_port),
                sizeof(port));
    return ntohs(port);
}

Listener listen_tcp(const HttpAddress& wanted, const std::string& where)
{
    const bool is_v6 = wanted.address.find(':') != std::string::npos;
    auto socket = is_v6 ? listen_v6(wanted, where) : listen_v4(wanted, where);
    const auto host = is_v6 ? '[' + wanted.address + ']' : wanted.address;
    const auto port = std::to_string(port_of(socket));
    return {.socket = std::move(socket),
            .address = wanted.address,
            .url = "http://" + host + ':' + port + "/mcp"};
}

/// What a server that was killed has left; anything else stays.
void remove_left_socket(const std::string& path, const sockaddr_un& address)
{
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return;
    }
    if (!S_ISSOCK(status.st_mode)) {
        throw Error(ErrorCode::invalid_argument, "--unix " + path + " is there, and no socket",
                    "Name a path that is free.");
    }
    const UniqueFd probe(::socket(AF_UNIX, flags, 0));
    if (::connect(probe.get(), as_sockaddr(address), sizeof(address)) == 0 || errno == EAGAIN) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "--unix " + path + ": another server listens there",
                    "Stop it, or name another path.");
    }
    if (errno == ECONNREFUSED) {
        ::unlink(path.c_str());
    }
}

Listener listen_unix_at(const std::string& path, unsigned mode)
{
    sockaddr_un address{.sun_family = AF_UNIX};
    if (path.size() >= sizeof(address.sun_path)) {
        throw Error(ErrorCode::invalid_argument,
                    "--unix " + path + " is longer than the kernel allows for a socket",
                    "Name one of at most " + std::to_string(sizeof(address.sun_path) - 1) +
                        " bytes.");
    }
    path.copy(address.sun_path, path.size());
    remove_left_socket(path, address);
    UniqueFd socket(::socket(AF_UNIX, flags, 0));
    // Made for nobody but the owner: between the two calls others could connect, and stay.
    const auto before = ::umask(0177);
    const bool bound = ::bind(socket.get(), as_sockaddr(address), sizeof(address)) == 0;
    const int error = errno;
    ::umask(before);
    if (!bound) {
        fail("cannot listen on " + path, error, "Name a path in a folder that may be written to.");
    }
    if (::chmod(path.c_str(), mode) != 0 || ::listen(socket.get(), backlog) != 0) {
        fail("cannot listen on " + path, errno, "Name another path.");
    }
    return {.socket = std::move(socket), .address = {}, .url = "unix:" + path};
}

} // namespace

Listener listen_on(const HttpOptions& options)
{
    if (!options.unix_path.empty()) {
        return listen_unix_at(options.unix_path, options.unix_mode);
    }
    return listen_tcp(*parse_http_address(options.address), options.address);
}

} // namespace berth::server::http
