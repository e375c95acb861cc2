#include "sandbox/guest/files/home_place.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/tree_files.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest {
namespace {

[[noreturn]] void throw_outside(const std::string& path, const CallContext& context)
{
    throw Error(ErrorCode::invalid_path, visible(path) + " is not in the home",
                "name what is below " + context.config.home);
}

/// As a mere location, of a link too where that is the last name; errno where there is none.
UniqueFd locate(int home, const std::string& name)
{
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    int fd = -1;
    do {
        fd = sys::openat2(home, name.c_str(), how);
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return UniqueFd(fd);
}

/// The first link on the way to `name`; empty: none any more.
std::string link_on_the_way(int home, const std::string& name)
{
    for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
        auto part = name.substr(0, end);
        struct stat status = {};
        const auto location = locate(home, part);
        if (location && ::fstat(location.get(), &status) == 0 && S_ISLNK(status.st_mode)) {
            return part;
        }
    }
    return {};
}

[[noreturn]] void throw_unopened(int error, const std::string& absolute, const CallContext& context)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: // also of a pattern, which may be longer than any name
        throw Error(ErrorCode::not_found, visible(absolute) + " does not exist",
                    "list the home to see what is there");
    case EXDEV:
        throw_outside(absolute, context);
    default:
        throw errno_error(error, "open " + visible(absolute));
    }
}

} // namespace

std::string name_in_home(const std::string& absolute, const CallContext& context)
{
    const auto& home = context.config.home;
    if (absolute == home) {
        return {};
    }
    if (!absolute.starts_with(home + '/')) {
        throw_outside(absolute, context);
    }
    auto name = absolute.substr(home.size() + 1);
    while (name.ends_with('/')) {
        name.pop_back();
    }
    return name;
}

HomePlace open_in_home(const std::string& absolute, const CallContext& context)
{
    const auto below = name_in_home(absolute, context);
    const auto name = below.empty() ? std::string(".") : below;
    const auto& home_path = context.config.home;
    const UniqueFd home(::open(home_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!home) {
        throw errno_error(errno, "open " + visible(home_path));
    }
    const auto location = locate(home.get(), name);
    if (!location) {
        const int error = errno;
        auto link = error == ELOOP ? link_on_the_way(home.get(), name) : std::string();
        if (link.empty()) {
            throw_unopened(error, absolute, context);
        }
        return {.opened = std::nullopt, .skipped = visible(link) + ": symbolic link"};
    }
    Opened opened;
    opened.path = path_of(location.get());
    require_readable(opened.path, context);
    if (::fstat(location.get(), &opened.status) != 0) {
        throw errno_error(errno, "look at " + visible(opened.path));
    }
    if (!S_ISREG(opened.status.st_mode) && !S_ISDIR(opened.status.st_mode)) {
        return {.opened = std::nullopt,
                .skipped = visible(name) + ": " + type_of_special(opened.status.st_mode)};
    }
    // The very inode that was judged, whatever its name leads to by now.
    opened.fd.reset(::open(descriptor_path(location.get()).c_str(),
                           O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!opened.fd) {
        throw_unopened(errno, absolute, context);
    }
    return {.opened = std::move(opened), .skipped = {}};
}

} // namespace berth::guest
