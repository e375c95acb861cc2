#include "sandbox/local/launcher/socket.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/local/failure.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "socket";
constexpr std::chrono::seconds patience{5};

/// Who removes the sockets of dead guests has their folder for itself: one that is not listening
/// yet looks like those, and one that takes a dead one's name would be removed in its place.
class FolderLock {
  public:
    explicit FolderLock(const UniqueFd& folder) : folder_(folder.get()) {}

    ~FolderLock() { ::flock(folder_, LOCK_UN); }

    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

    [[nodiscard]] bool lock() const
    {
        return flock_until(folder_, LOCK_SH, Deadline::after(patience));
    }

  private:
    int folder_;
};

} // namespace

ListenSocket::ListenSocket(std::string path) : path_(std::move(path))
{
    folder_.reset(::open(path_.substr(0, path_.rfind('/')).c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    require(folder_.valid(), step, "open the directory of " + path_);
    const FolderLock lock(folder_);
    if (!lock.lock()) {
        throw Failure(step, EBUSY,
                      "lock the directory of " + path_ + ", as a berth that was stopped holds it");
    }
    try {
        // By its descriptor it is the folder that is locked, whatever has its path by now.
        socket_ = listen_unix("/proc/self/fd/" + std::to_string(folder_.get()) + "/" + name());
    } catch (const std::system_error& error) {
        throw Failure(step, error.code().value(), "bind " + path_);
    }
}

ListenSocket::~ListenSocket()
{
    if (!kept_) {
        ::unlinkat(folder_.get(), name(), 0);
    }
}

const char* ListenSocket::name() const noexcept
{
    return path_.c_str() + path_.rfind('/') + 1;
}

bool ListenSocket::rename(const std::string& path) noexcept
{
    const auto slash = path.rfind('/');
    if (path.compare(0, slash, path_, 0, path_.rfind('/')) != 0) {
        return false;
    }
    try {
        const FolderLock lock(folder_);
        std::string other = path;
        if (!lock.lock() ||
            ::renameat(folder_.get(), name(), folder_.get(), other.c_str() + slash + 1) != 0) {
            return false;
        }
        path_.swap(other);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

} // namespace berth::local
