#include "sandbox/filter/proxy/secret_intake.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace berth::filter {
namespace {

/// A server sends all of it at once. The next one waits for it.
constexpr timeval patience_with_server{.tv_sec = 5, .tv_usec = 0};

bool may_bring(int connection, std::uint32_t server)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == server);
}

/// Whether all of it came.
bool read_whole(int connection, std::string& bytes)
{
    std::array<char, 4096> buffer; // NOLINT(*-member-init): what was written to is read
    for (;;) {
        const ssize_t size = ::recv(connection, buffer.data(), buffer.size(), 0);
        if (size == 0) {
            return true;
        }
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0 || bytes.size() > longest_secret_values) {
            return false;
        }
        bytes.append(buffer.data(), static_cast<std::size_t>(size));
    }
}

} // namespace

bool take_secrets_from(int connection, std::uint32_t server, SecretBook& secrets) noexcept
{
    (void)::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience_with_server,
                       sizeof patience_with_server);
    try {
        std::string bytes;
        if (!may_bring(connection, server) || !read_whole(connection, bytes)) {
            return false;
        }
        for (const auto& [name, value] : protocol::decode<SecretValues>(bytes).values) {
            secrets.set(name, value);
        }
        return ::send(connection, &taken, 1, MSG_NOSIGNAL) == 1;
    } catch (const std::exception&) {
        return false; // of another release, or no memory: its command is told
    }
}

void take_secrets(int listener, std::uint32_t server, SecretBook& secrets) noexcept
{
    for (;;) {
        pollfd waiting{listener, POLLIN, 0};
        (void)::poll(&waiting, 1, -1);
        const UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (connection) {
            (void)take_secrets_from(connection.get(), server, secrets);
        } else if (errno != EAGAIN && errno != EINTR) {
            constexpr int milliseconds = 100; // no descriptor is left, until one is
            (void)::poll(nullptr, 0, milliseconds);
        }
    }
}

} // namespace berth::filter
