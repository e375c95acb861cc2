#include "sandbox/workspace/tree.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/store_error.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

/// What the kernel calls `path` when the root is a descriptor.
const char* relative(const std::string& path)
{
    return path == "/" ? "." : path.c_str() + 1;
}

std::string join(const std::string& folder, const std::string& name)
{
    return folder == "/" ? "/" + name : folder + "/" + name;
}

} // namespace

SplitPath split(const std::string& path)
{
    const std::size_t slash = path.rfind('/');
    SplitPath parts{slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
    if (parts.name.empty()) {
        throw Error(ErrorCode::invalid_path, "'/' is the workspace's root, not a file",
                    "name a file, e.g. /result.csv");
    }
    return parts;
}

UniqueFd open_below(int root, const std::string& path, int flags)
{
    open_how how{};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    for (;;) {
        UniqueFd fd(sys::openat2(root, relative(path), how));
        if (fd || errno == ENOENT || errno == ENOTDIR) {
            return fd;
        }
        // EAGAIN: something was renamed while the kernel resolved the path.
        if (errno != EAGAIN && errno != EINTR) {
            throw store_error(errno, "open " + visible(path) + " in the workspace");
        }
    }
}

UniqueFd open_or_make_folder(int root, const std::string& folder, bool flush)
{
    UniqueFd current = open_below(root, folder, O_RDONLY | O_DIRECTORY);
    if (current) {
        return current;
    }
    current = open_below(root, "/", O_RDONLY | O_DIRECTORY);
    if (!current) {
        throw store_error(errno, "open the workspace");
    }
    for (std::size_t start = 1; start < folder.size();) {
        const std::size_t end = std::min(folder.find('/', start), folder.size());
        bool made = false;
        UniqueFd next =
            open_or_make_subdirectory(current.get(), folder.substr(start, end - start), &made);
        if (!next && (errno == ENOTDIR || errno == ELOOP)) {
            throw Error(Error(ErrorCode::conflict,
                              "'" + visible(folder.substr(0, end)) +
                                  "' in the workspace is a file, not a folder",
                              "delete that file first or choose another path")
                            .set_retryable(false));
        }
        if (!next) {
            throw store_error(errno, "make the folder " + visible(folder) + " in the workspace");
        }
        if (made && flush) {
            ::fsync(current.get());
        }
        current = std::move(next);
        start = end + 1;
    }
    return current;
}

void prune(int root, std::string folder) noexcept
{
    while (folder.size() > 1 && ::unlinkat(root, relative(folder), AT_REMOVEDIR) == 0) {
        const std::size_t slash = folder.rfind('/');
        folder.resize(slash == 0 ? 1 : slash);
    }
}

bool remove_hollow(int dirfd, const std::string& name)
{
    const UniqueFd folder = open_subdirectory(dirfd, name.c_str());
    if (folder) {
        for (const auto& below : directory_names(folder.get())) {
            if (!remove_hollow(folder.get(), below)) {
                return false;
            }
        }
    }
    return ::unlinkat(dirfd, name.c_str(), AT_REMOVEDIR) == 0;
}

std::vector<std::string> files_below(int root, const std::string& folder)
{
    std::vector<std::string> files;
    std::vector<std::string> waiting{folder};
    while (!waiting.empty()) {
        const std::string path = std::move(waiting.back());
        waiting.pop_back();
        const UniqueFd fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
        if (!fd) {
            continue; // removed meanwhile
        }
        for (const auto& name : directory_names(fd.get())) {
            struct stat status{};
            if (::fstatat(fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                continue;
            }
            if (S_ISDIR(status.st_mode)) {
                waiting.push_back(join(path, name));
            } else if (S_ISREG(status.st_mode)) {
                files.push_back(join(path, name));
            }
        }
    }
    return files;
}

} // namespace berth::workspace
