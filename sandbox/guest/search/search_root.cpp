#include "sandbox/guest/search/search_root.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest::search {

bool is_own_process(std::string_view path)
{
    constexpr std::string_view proc = "/proc/";
    if (!path.starts_with(proc)) {
        return false;
    }
    path.remove_prefix(proc.size());
    const std::string number(path.substr(0, path.find('/')));
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    // A thread's id opens the same files as the process's, though /proc does not list it.
    return number == std::to_string(::getpid()) ||
           ::access(("/proc/self/task/" + number).c_str(), F_OK) == 0;
}

SearchRoot open_search_root(std::string_view path, const CallContext& context)
{
    const std::string start = path.empty() ? context.session.cwd() : std::string(path);
    SearchRoot root;
    root.fd = open_readable(start, context);
    root.path = path_of(root.fd.get());
    struct stat status{};
    if (::fstat(root.fd.get(), &status) != 0) {
        throw errno_error(errno, "look at " + root.path);
    }
    root.is_directory = S_ISDIR(status.st_mode);
    if (!root.is_directory && !S_ISREG(status.st_mode)) {
        throw Error(ErrorCode::not_a_file, root.path + " is neither a directory nor a regular file",
                    "search a directory or a file");
    }
    if (is_own_process(root.path)) {
        throw Error(ErrorCode::permission_denied, root.path + " belongs to the sandbox's service",
                    "to look at a process, run a command that reads its /proc/<pid>");
    }
    return root;
}

UniqueFd reopen_below(int directory, std::string_view relative, int flags) noexcept
{
    open_how how{};
    how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(sys::openat2(directory, std::string(relative).c_str(), how));
}

} // namespace berth::guest::search
