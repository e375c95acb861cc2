#include "sandbox/guest/search/search_root.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/paths.hpp"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest::search {

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
        throw Error(ErrorCode::not_a_file,
                    visible(root.path) + " is neither a directory nor a regular file",
                    "search a directory or a file");
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
