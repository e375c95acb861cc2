#include "sandbox/local/obstacle.hpp"

#include "sandbox/base/unique_fd.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

std::string kind_of(mode_t mode)
{
    return S_ISDIR(mode)   ? "a folder"
           : S_ISREG(mode) ? "a file"
           : S_ISLNK(mode) ? "a symbolic link"
                           : "a pipe, socket or device";
}

struct Found {
    std::string path;
    mode_t mode = 0;
    bool last = false;
};

/// The first part of `path` that a mount of this kind cannot use.
std::optional<Found> first_unfit(int root, const std::string& path, bool directory,
                                 std::size_t shown)
{
    UniqueFd at;
    for (std::size_t begin = shown + 1; begin <= path.size();) {
        const auto slash = std::min(path.find('/', begin), path.size());
        const bool last = slash == path.size();
        const std::string name = path.substr(begin, slash - begin);
        UniqueFd part(
            ::openat(at ? at.get() : root, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status{};
        if (!part || ::fstat(part.get(), &status) != 0) {
            return std::nullopt; // it is not there, or out of reach: another fault
        }
        const bool wanted = !last || directory;
        if (S_ISDIR(status.st_mode) != wanted) {
            return Found{.path = path.substr(0, slash), .mode = status.st_mode, .last = last};
        }
        at = std::move(part);
        begin = slash + 1;
    }
    return std::nullopt;
}

/// The bind that shows `path`: the innermost of those that were attached before.
const Bind* shown_by(const std::vector<Bind>& binds, std::size_t count, std::string_view path)
{
    const Bind* found = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string& target = binds[i].target;
        const bool inside = path.starts_with(target) && path.substr(target.size()).starts_with('/');
        if (inside && (found == nullptr || target.size() > found->target.size())) {
            found = &binds[i];
        }
    }
    return found;
}

} // namespace

std::optional<Obstacle> find_obstacle(int root, const std::vector<Bind>& binds, std::size_t index,
                                      bool directory, std::size_t shown)
{
    const Bind& bind = binds.at(index);
    const auto found = first_unfit(root, bind.target, directory, shown);
    const Bind* const place = found ? shown_by(binds, index, found->path) : nullptr;
    if (place == nullptr) {
        return std::nullopt; // in berth's own part of the root: no one else's doing
    }
    const std::string where = place->late ? ""
                                          : " (on the host " + place->source +
                                                found->path.substr(place->target.size()) + ')';
    const std::string why = !found->last ? "; no mount goes through it"
                            : directory  ? "; a folder can only be mounted on a folder"
                                         : "; a file cannot be mounted on a folder";
    return Obstacle{.step = place->late ? step_home : step_target,
                    .text = bind.source + " cannot be mounted on " + bind.target + ", for " +
                            found->path + where + " is " + kind_of(found->mode) + why};
}

} // namespace berth::local
