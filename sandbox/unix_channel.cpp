#include "sandbox/unix_channel.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <system_error>

#include <sys/socket.h>

namespace berth::sandbox {
namespace {

std::string broke(int error)
{
    return "the connection to the sandbox broke: " + std::generic_category().message(error);
}

[[noreturn]] void throw_lost(int error)
{
    throw Error(ErrorCode::session_lost, broke(error));
}

} // namespace

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
            if (!wait_readable(socket_.get(), deadline)) {
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
