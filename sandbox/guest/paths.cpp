#include "sandbox/guest/paths.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/is_in.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/missing.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::string_view proc = "/proc/";

bool is_below(std::string_view path, std::string_view root)
{
    while (root.ends_with('/')) {
        root.remove_suffix(1);
    }
    return is_in(path, root);
}

/// Where a configured root really is: it may have been named through a symlink. The roots are mount
/// points inside a sandbox, so no command can put a link in their place.
std::string real_root(const std::string& root)
{
    const UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return fd ? path_of(fd.get()) : root;
}

void require_below(const std::string& real, const std::vector<std::string>& roots,
                   const std::string& action, const std::string& wanted)
{
    std::string allowed;
    for (const auto& root : roots) {
        if (root.empty()) {
            continue; // would be a prefix of everything
        }
        if (is_below(real, root) || is_below(real, real_root(root))) {
            return;
        }
        allowed += (allowed.empty() ? "" : ", ") + root;
    }
    throw Error(Error(ErrorCode::invalid_path,
                      visible(wanted.empty() ? real : wanted) +
                          " is outside of what this tool may " + action,
                      "use a path under " + allowed)
                    .with_detail("allowed", allowed));
}

/// The guest reads with its own identity, so its memory and environment, which no command can get
/// at, would be a read_file("/proc/1/mem") away. What every process may know of another stays.
void refuse_own_process(const std::string& real)
{
    if (!is_own_process(real)) {
        return;
    }
    static constexpr std::array<std::string_view, 12> harmless = {
        "cgroup", "cmdline", "comm",   "limits",  "mountinfo", "mounts",
        "stat",   "statm",   "status", "uid_map", "gid_map",   "oom_score",
    };
    const auto slash = real.find('/', proc.size());
    if (slash == std::string::npos ||
        std::find(harmless.begin(), harmless.end(), real.substr(slash + 1)) == harmless.end()) {
        throw Error(ErrorCode::permission_denied, real + " belongs to the sandbox's own service",
                    "to look at a process, run a command that reads its /proc/<pid>");
    }
}

} // namespace

std::string absolute_path(std::string_view path, const CallContext& context)
{
    if (path.empty()) {
        throw Error(ErrorCode::invalid_path, "the path is empty",
                    "name a file, e.g. src/main.cpp or /home/user/notes.txt");
    }
    if (path.find('\0') != std::string_view::npos) {
        throw Error(ErrorCode::invalid_path, "the path contains a NUL byte", "leave it out");
    }
    std::string absolute;
    if (path.front() == '/') {
        absolute = path;
    } else if (path == "~" || path.starts_with("~/")) {
        absolute = context.config.home + std::string(path.substr(1));
    } else {
        const std::string cwd = context.session.cwd();
        if (::access(cwd.c_str(), F_OK) != 0 && errno == ENOENT) {
            // A write would make the folder anew that somebody has removed.
            throw Error(ErrorCode::not_found,
                        "the working directory " + visible(cwd) + " is gone, and " +
                            visible(std::string(path)) + " is relative to it",
                        "give an absolute path, or one from ~");
        }
        absolute = cwd + (cwd.ends_with('/') ? "" : "/") + std::string(path);
    }
    if (absolute.size() >= PATH_MAX) {
        throw Error(ErrorCode::invalid_path,
                    "the path has " + std::to_string(absolute.size()) + " bytes",
                    "a path may have at most 4095 bytes, each name in it 255");
    }
    return absolute;
}

std::string descriptor_path(int fd)
{
    return "/proc/self/fd/" + std::to_string(fd);
}

bool is_own_process(std::string_view path)
{
    if (!path.starts_with(proc)) {
        return false;
    }
    path.remove_prefix(proc.size());
    const std::string number(path.substr(0, path.find('/')));
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    // A thread's id opens the same files as the process's, though /proc does not list it. One that
    // has ended since the path was opened is told as another's, and reads as nothing.
    return number == std::to_string(::getpid()) ||
           ::access(("/proc/self/task/" + number).c_str(), F_OK) == 0;
}

std::string path_of(int fd)
{
    std::array<char, PATH_MAX + 16> buffer;
    const std::string link = descriptor_path(fd);
    const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
    if (size < 0) {
        throw errno_error(errno, "find out where a file is",
                          "file tools need /proc in the sandbox; bash_exec works without it");
    }
    std::string path(buffer.data(), static_cast<std::size_t>(size));
    if (!path.starts_with('/')) {
        throw Error(ErrorCode::not_a_file, visible(path) + " is not in the file system",
                    "it is a pipe, a socket or the like of a process; use bash_exec for this one");
    }
    if (path.ends_with(" (deleted)")) {
        // The kernel's mark, or a file that is really called so.
        struct stat here = {};
        struct stat there = {};
        if (::fstat(fd, &here) != 0 || ::lstat(path.c_str(), &there) != 0 ||
            here.st_ino != there.st_ino || here.st_dev != there.st_dev) {
            path.resize(path.size() - std::string_view(" (deleted)").size());
            if (::lstat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
                here.st_dev == there.st_dev) { // reached all the same: as what is mounted there
                throw Error(ErrorCode::not_found,
                            visible(path) + " is mounted from the host, and was deleted or "
                                            "replaced there: the sandbox has what it was",
                            "the operator ends the session with `berth sessions kill KEY`: the "
                            "next call mounts what is there now, and the home is kept");
            }
            throw Error(ErrorCode::not_found, visible(path) + " was deleted meanwhile",
                        "list its directory to see what is there now");
        }
    }
    return path;
}

std::optional<std::string> place_of(int fd)
{
    try {
        return path_of(fd);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) {
            throw;
        }
        return std::nullopt;
    }
}

void require_readable(const std::string& real, const CallContext& context,
                      const std::string& wanted)
{
    refuse_own_process(real);
    // By its name, which a command may have made a link to somewhere else.
    const std::string& outputs = context.config.spill_directory;
    const bool is_output = !outputs.empty() && is_below(real, outputs);
    if (context.config.path_policy == "home" && !is_output) {
        require_below(real, {context.config.home}, "read", wanted);
    }
}

void require_writable(const std::string& real, const CallContext& context,
                      const std::string& wanted)
{
    std::vector<std::string> roots{context.config.home};
    if (context.config.path_policy != "home") {
        roots.insert(roots.end(), context.config.writable_roots.begin(),
                     context.config.writable_roots.end());
    }
    const auto& fixed = context.config.read_only_mounts;
    const bool is_fixed = std::any_of(fixed.begin(), fixed.end(),
                                      [&](const auto& mount) { return is_below(real, mount); });
    // One below the other may be writable, or narrowed away with all else.
    const bool open = std::any_of(roots.begin(), roots.end(), [&](const auto& root) {
        return !root.empty() && is_below(real, root);
    });
    if (is_fixed && !open && context.config.path_policy != "home") {
        throw_read_only_mount(real);
    }
    require_below(real, roots, "write", wanted);
}

void throw_read_only_mount(const std::string& path)
{
    throw Error(ErrorCode::permission_denied, visible(path) + " is on a read-only mount",
                "no command in the sandbox can change anything there either; copy what is needed "
                "to the home directory and change the copy");
}

int open_without_magic(int dirfd, const std::string& path, int flags) noexcept
{
    open_how how = {};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_NO_MAGICLINKS;
    int fd = -1;
    do {
        fd = sys::openat2(dirfd, path.c_str(), how);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

std::string type_in_words(const struct stat& status)
{
    switch (status.st_mode & S_IFMT) {
    case S_IFREG:
        return "a file";
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFLNK:
        return "a symbolic link";
    default:
        return "a device";
    }
}

void require_file_or_directory(const struct stat& status, const std::string& path)
{
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
        return;
    }
    throw Error(ErrorCode::not_a_file, visible(path) + " is " + type_in_words(status),
                "file tools work on regular files; use bash_exec for this one");
}

Opened open_existing(std::string_view path, const CallContext& context, int extra_flags)
{
    const std::string absolute = absolute_path(path, context);
    Opened opened;
    UniqueFd location;
    std::optional<std::string> place;
    for (int i = 0; !place && i < open_attempts; ++i) {
        // First as a mere location: to open a FIFO would wake its writer, to open a device may act.
        const int fd = open_without_magic(AT_FDCWD, absolute,
                                          O_PATH | (extra_flags & (O_NOFOLLOW | O_DIRECTORY)));
        if (fd < 0) {
            throw_open_error(errno, absolute, context);
        }
        location.reset(fd);
        place = place_of(fd);
    }
    opened.path = place ? *place : path_of(location.get()); // which says why there is none
    require_readable(opened.path, context);
    if (::fstat(location.get(), &opened.status) != 0) {
        throw errno_error(errno, "look at " + visible(opened.path));
    }
    require_file_or_directory(opened.status, opened.path);
    // The very inode that was judged, whatever its name leads to by now.
    const int fd =
        ::open(descriptor_path(location.get()).c_str(),
               O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (extra_flags & ~O_NOFOLLOW));
    if (fd < 0) {
        throw_open_error(errno, opened.path, context);
    }
    opened.fd.reset(fd);
    return opened;
}

UniqueFd open_readable(std::string_view path, const CallContext& context, int extra_flags)
{
    return std::move(open_existing(path, context, extra_flags).fd);
}

} // namespace berth::guest
