#include "sandbox/local/launcher/socket.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/local/failure.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth::local {

ListenSocket::ListenSocket(std::string path) : path_(std::move(path))
{
    constexpr const char* step = "socket";
    const auto slash = path_.rfind('/');
    const UniqueFd directory(
        ::open(path_.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    require(directory.valid(), step, "open the directory of " + path_);
    // Between bind and listen it looks like one that a dead guest has left; who removes those has
    // the folder for itself. Freed with the descriptor.
    if (!flock_until(directory.get(), LOCK_SH, Deadline::after(std::chrono::seconds(5)))) {
        throw Failure(step, EBUSY,
                      "lock the directory of " + path_ + ", as a berth that was stopped holds it");
    }
    // sun_path holds 107 bytes; this is short however long the directory's path is.
    const std::string name =
        "/proc/self/fd/" + std::to_string(directory.get()) + "/" + path_.substr(slash + 1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() >= sizeof address.sun_path) {
        throw Failure(step, ENAMETOOLONG, "bind " + path_);
    }
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    require(socket_.valid(), step, "open a socket");
    ::unlinkat(directory.get(), path_.substr(slash + 1).c_str(), 0);
    const mode_t old = ::umask(0177);
    const int bound =
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::umask(old);
    require(bound == 0, step, "bind " + path_);
    require(::listen(socket_.get(), listen_backlog) == 0, step, "listen on " + path_);
}

ListenSocket::~ListenSocket()
{
    if (!kept_) {
        ::unlink(path_.c_str());
    }
}

} // namespace berth::local
