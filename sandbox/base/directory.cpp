#include "sandbox/base/directory.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace berth {
namespace {

constexpr int open_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

} // namespace

std::string obstacle_on(const std::string& path)
{
    const int kept = errno;
    std::string text;
    for (std::size_t end = 0; text.empty() && end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const auto beginning = path.substr(0, end);
        struct stat status{};
        if (::stat(beginning.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
            text = S_ISREG(status.st_mode) ? beginning + " is a file" : beginning + " is no folder";
        }
    }
    errno = kept;
    return text;
}

UniqueFd open_or_make_directory(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), open_flags));
    for (std::size_t slash = 0; !fd && errno == ENOENT && slash != std::string::npos;) {
        slash = path.find('/', slash + 1);
        if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) {
            break;
        }
        if (slash == std::string::npos) {
            fd.reset(::open(path.c_str(), open_flags));
        } else {
            errno = ENOENT;
        }
    }
    if (!fd) {
        const auto obstacle = obstacle_on(path);
        throw errno_error(
            errno, "make the directory " + path + (obstacle.empty() ? "" : ": " + obstacle),
            "It must be a folder that the server may make or write to, on a disk with room.");
    }
    return fd;
}

UniqueFd open_or_make_subdirectory(int dirfd, const std::string& name, bool* made) noexcept
{
    constexpr int rounds = 1000;
    for (int round = 0;; ++round) {
        const bool fresh = ::mkdirat(dirfd, name.c_str(), 0700) == 0;
        if (made != nullptr) {
            *made = fresh;
        }
        if (!fresh && errno != EEXIST) {
            return {};
        }
        UniqueFd fd = open_subdirectory(dirfd, name.c_str());
        // Another process may remove it between the two.
        if (fd || errno != ENOENT || round == rounds) {
            return fd;
        }
    }
}

UniqueFd open_subdirectory(int dirfd, const char* name) noexcept
{
    return UniqueFd(::openat(dirfd, name, open_flags | O_NOFOLLOW));
}

void spread_subdirectories(int dirfd) noexcept
{
    int flags = 0;
    if (::ioctl(dirfd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_TOPDIR_FL) == 0) {
        flags |= FS_TOPDIR_FL;
        (void)::ioctl(dirfd, FS_IOC_SETFLAGS, &flags);
    }
}

DirectoryStream stream_of(UniqueFd directory) noexcept
{
    DIR* const opened = directory ? ::fdopendir(directory.get()) : nullptr;
    if (opened != nullptr) {
        (void)directory.release();
    }
    return {opened, ::closedir};
}

DirectoryStream open_stream(int dirfd) noexcept
{
    // A descriptor of its own, as the position is not to be shared.
    return stream_of(UniqueFd(::openat(dirfd, ".", open_flags)));
}

std::vector<std::string> directory_names(int dirfd)
{
    const auto directory = open_stream(dirfd);
    if (!directory) {
        throw_errno("open a directory");
    }
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        // NOLINTNEXTLINE(concurrency-mt-unsafe): safe on a stream that one thread uses
        const dirent* const entry = ::readdir(directory.get());
        if (entry == nullptr) {
            if (errno != 0) {
                throw_errno("readdir");
            }
            return names;
        }
        std::string name(static_cast<const char*>(entry->d_name));
        if (name != "." && name != "..") {
            names.push_back(std::move(name));
        }
    }
}

} // namespace berth
