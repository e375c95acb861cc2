#include "sandbox/unix_channel.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth::sandbox {
namespace {

/// The address of a path. A long one is reached through a descriptor of its folder, which must stay
/// open while the address is used.
struct Address {
    sockaddr_un name{};
    UniqueFd folder;

    explicit Address(const std::string& path)
    {
        name.sun_family = AF_UNIX;
        std::string fitting = path;
        if (path.size() >= sizeof(name.sun_path)) {
            const auto slash = path.rfind('/');
            const std::string parent = path.substr(0, slash == std::string::npos ? 0 : slash + 1);
            folder.reset(
                ::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            if (!folder) {
                throw_errno("open " + parent);
            }
            fitting =
                "/proc/self/fd/" + std::to_string(folder.get()) + "/" + path.substr(parent.size());
        }
        if (fitting.size() >= sizeof(name.sun_path)) {
            throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
        }
        std::memcpy(name.sun_path, fitting.data(), fitting.size());
    }

    [[nodiscard]] const sockaddr* get() const noexcept
    {
        return reinterpret_cast<const sockaddr*>(&name);
    }
};

UniqueFd make_socket(int flags)
{
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    if (!socket) {
        throw_errno("make a unix socket");
    }
    return socket;
}

/// How long connect(2) and send(2) wait, connect for a place in the listener's queue.
void set_send_time(int socket, const Deadline& deadline) noexcept
{
    timeval time{};
    if (!deadline.is_never()) {
        const int left = std::max(deadline.poll_timeout(), 1); // 0 would be for ever
        time = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    }
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

std::string broke(int error)
{
    return "the connection to the sandbox broke: " + std::generic_category().message(error);
}

[[noreturn]] void throw_lost(int error)
{
    throw Error(ErrorCode::session_lost, broke(error));
}

} // namespace

UniqueFd listen_unix(const std::string& path)
{
    const Address address(path);
    auto socket = make_socket(SOCK_NONBLOCK);
    ::unlink(address.name.sun_path);
    // The mode comes from the socket's inode, so there is no moment at which others may connect.
    ::fchmod(socket.get(), 0600);
    if (::bind(socket.get(), address.get(), sizeof(address.name)) != 0) {
        throw_errno("bind " + path);
    }
    if (::listen(socket.get(), 64) != 0) {
        throw_errno("listen at " + path);
    }
    return socket;
}

UniqueFd connect_unix(const std::string& path, const Deadline& deadline)
{
    try {
        const Address address(path);
        auto socket = make_socket(0);
        set_send_time(socket.get(), deadline);
        while (::connect(socket.get(), address.get(), sizeof(address.name)) != 0) {
            if (errno != EINTR) {
                throw_errno("connect to the sandbox at " + path);
            }
        }
        set_send_time(socket.get(), Deadline());
        return socket;
    } catch (const std::system_error& error) {
        const int number = error.code().value();
        const bool gone = number == ENOENT || number == ECONNREFUSED || number == ENOTDIR;
        throw Error(gone ? ErrorCode::session_lost : ErrorCode::backend_error, error.what());
    }
}

void UnixChannel::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno != EINTR) {
            throw_lost(errno);
        }
    }
}

std::size_t UnixChannel::receive(char* data, std::size_t size, const Deadline& deadline)
{
    for (;;) {
        const int flags = deadline.is_never() ? 0 : MSG_DONTWAIT;
        const ssize_t received = ::recv(socket_.get(), data, size, flags);
        if (received >= 0) {
            return static_cast<std::size_t>(received);
        }
        if (errno == EAGAIN) {
            pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, deadline.poll_timeout()) == 0) {
                throw Error(ErrorCode::backend_error, "the sandbox did not answer in time");
            }
        } else if (errno == ECONNRESET) {
            // Of a unix socket the kernel says that only when its peer was closed with something
            // still in its queue (unix_release_sock(), since Linux 2.6); else this is an end.
            throw LeftUnread(ErrorCode::session_lost, broke(errno));
        } else if (errno != EINTR) {
            throw_lost(errno);
        }
    }
}

void UnixChannel::shutdown() noexcept
{
    ::shutdown(socket_.get(), SHUT_RDWR);
}

void UnixChannel::hang_up(const Deadline& deadline) noexcept
{
    ::shutdown(socket_.get(), SHUT_WR);
    std::array<char, 4096> unread{};
    try {
        // The deadline here too: a guest that goes on sending is heard no longer.
        while (receive(unread.data(), unread.size(), deadline) > 0 && !deadline.expired()) {
        }
    } catch (const std::exception&) {
        return; // it broke, or the guest says nothing
    }
}

} // namespace berth::sandbox
