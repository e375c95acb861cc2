#include "sandbox/session/session_lock.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/state_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace berth::session {

bool is_named(int folder, const std::string& name, int fd) noexcept
{
    struct stat opened{};
    struct stat named{};
    return ::fstat(fd, &opened) == 0 &&
           ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

UniqueFd lock_file(const std::function<UniqueFd()>& open_folder, const std::string& name,
                   const Deadline& deadline)
{
    constexpr std::chrono::milliseconds longest_pause{10};
    std::chrono::milliseconds pause{1};
    for (;;) {
        const UniqueFd folder = open_folder();
        UniqueFd fd(
            ::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!fd && errno != ENOENT) {
            throw sandbox::write_error(
                errno, "the session cannot be locked", "open the session's lock file",
                "The session's folder in the state directory must belong to who runs the server.");
        }
        if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
            // Its last holder may have deleted it with the session: a lock on a file without a name
            // excludes nobody.
            if (is_named(folder.get(), name, fd.get())) {
                return fd;
            }
            continue;
        }
        if (fd && errno != EWOULDBLOCK && errno != EINTR) {
            throw errno_error(errno, "lock the session",
                              "The state directory must be on a local disk; --state-dir or "
                              "BERTH_STATE_DIR names another.");
        }
        if (deadline.expired()) {
            return {};
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
}

} // namespace berth::session
