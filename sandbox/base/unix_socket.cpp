#include "sandbox/base/unix_socket.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth {
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

} // namespace berth
