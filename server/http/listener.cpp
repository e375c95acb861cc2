#include "server/http/listener.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "server/options/http_options.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/// What helps where a port cannot be had.
std::string advice_on(int error, std::uint16_t port)
{
    constexpr std::uint16_t unprivileged = 1024;
    constexpr const char* any = "--http 127.0.0.1:0 takes any free port.";
    if (error == EACCES && port < unprivileged) {
        return "Ports below 1024 need a privilege that who runs berth (uid " +
               std::to_string(::geteuid()) +
               ") has not: say another, such as --http 127.0.0.1:8931, with a proxy before it; or "
               "give it CAP_NET_BIND_SERVICE (systemd: AmbientCapabilities=), or set the sysctl "
               "net.ipv4.ip_unprivileged_port_start to " +
               std::to_string(port) + '.';
    }
    if (error == EADDRINUSE) {
        return std::string("Another program listens there. Say another port: ") + any;
    }
    if (error == EADDRNOTAVAIL) {
        return std::string("It is no address of this host's. Say one that is: ") + any;
    }
    return std::string("Say another address or port: ") + any;
}

template <class Address>
UniqueFd listen_at(UniqueFd socket, const Address& address, const std::string& where,
                   std::uint16_t port)
{
    const int on = 1; // else the port of a server that has just ended is taken for a minute
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (!socket || ::bind(socket.get(), as_sockaddr(address), sizeof(address)) != 0 ||
        ::listen(socket.get(), backlog) != 0) {
        const int error = errno;
        fail("cannot listen on " + where, error, advice_on(error, port));
    }
    return socket;
}

UniqueFd listen_v4(const HttpAddress& wanted, const std::string& where)
{
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(wanted.port)};
    ::inet_pton(AF_INET, wanted.address.c_str(), &address.sin_addr);
    return listen_at(UniqueFd(::socket(AF_INET, flags, 0)), address, where, wanted.port);
}

UniqueFd listen_v6(const HttpAddress& wanted, const std::string& where)
{
    UniqueFd socket(::socket(AF_INET6, flags, 0));
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    sockaddr_in6 address{.sin6_family = AF_INET6, .sin6_port = htons(wanted.port)};
    ::inet_pton(AF_INET6, wanted.address.c_str(), &address.sin6_addr);
    return listen_at(std::move(socket), address, where, wanted.port);
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

/// Throws Error unless nothing is there, or what a server that was killed has left.
void require_free(const std::string& path)
{
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return;
    }
    if (!S_ISSOCK(status.st_mode)) {
        throw Error(ErrorCode::invalid_argument, "--unix " + path + " is there, and no socket",
                    "Name a path that is free.");
    }
    try {
        (void)connect_unix(path, Deadline::after(std::chrono::seconds(1)));
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost) { // nobody listens
            return;
        }
        throw Error(ErrorCode::sandbox_unavailable, "--unix " + path + ": " + error.what(),
                    "Name another path.");
    }
    throw Error(ErrorCode::sandbox_unavailable, "--unix " + path + ": another server listens there",
                "Stop it, or name another path.");
}

Listener listen_unix_at(const std::string& path, unsigned mode)
{
    require_free(path);
    try {
        auto socket = listen_unix(path); // its owner's alone, until here
        struct stat status{};
        if (::lstat(path.c_str(), &status) != 0 || ::chmod(path.c_str(), mode) != 0 ||
            ::listen(socket.get(), backlog) != 0) {
            throw_errno("open it to others");
        }
        return {.socket = std::move(socket),
                .address = {},
                .url = "unix:" + path,
                .file =
                    Listener::File{.path = path, .device = status.st_dev, .inode = status.st_ino}};
    } catch (const std::system_error& error) {
        fail("cannot listen on " + path, error.code().value(),
             "Name a path in a folder that may be written to.");
    }
}

} // namespace

Listener listen_on(const HttpOptions& options)
{
    if (!options.unix_path.empty()) {
        return listen_unix_at(options.unix_path, options.unix_mode);
    }
    return listen_tcp(*parse_http_address(options.address), options.address);
}

void remove_file(const Listener& listener) noexcept
{
    struct stat status{};
    if (listener.file && ::lstat(listener.file->path.c_str(), &status) == 0 &&
        status.st_dev == listener.file->device && status.st_ino == listener.file->inode) {
        ::unlink(listener.file->path.c_str());
    }
}

} // namespace berth::server::http
