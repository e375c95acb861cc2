#include "sandbox/guest/search/search_root.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/guest/paths.hpp"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest::search {

SearchRoot open_search_root(std::string_view path, const CallContext& context)
{
    const std::string start = path.empty() ? context.session.cwd() : std::string(path);
    // The path as it was judged: asked for again, a file that was replaced since has none.
    Opened opened = open_existing(start, context);
    return {.fd = std::move(opened.fd),
            .path = std::move(opened.path),
            .is_directory = S_ISDIR(opened.status.st_mode)};
}

UniqueFd reopen_below(int directory, std::string_view relative, int flags) noexcept
{
    open_how how{};
    how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(sys::openat2(directory, std::string(relative).c_str(), how));
}

} // namespace berth::guest::search
