#include "sandbox/local/mount_rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/mount_table.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/source_rules.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

// On these or anywhere below: the sandbox's own parts, or read-only ones where no mount point can
// be made.
constexpr std::array<std::string_view, 15> closed_trees{
    "/proc",  "/dev",   "/sys",    "/usr", "/etc",       "/bin",  "/sbin",         "/lib",
    "/lib32", "/lib64", "/libx32", "/opt", "/run/berth", "/boot", "/var/tmp/berth"};
// On exactly these, which would hide what the session keeps there.
constexpr std::array<std::string_view, 7> closed_folders{"/",    "/home",    "/home/user", "/tmp",
                                                         "/var", "/var/tmp", "/run"};

Error refusal(const std::string& message, const std::string& hint)
{
    return {ErrorCode::invalid_argument, message, hint};
}

bool is_in(std::string_view path, std::string_view tree)
{
    return path == tree || (path.starts_with(tree) && path.substr(tree.size()).starts_with('/'));
}

/// As the launcher comes to it, which follows no link: one in a template leads elsewhere on the
/// host than in the sandbox. Invalid and errno set where there is none.
UniqueFd open_place(const std::string& source, const std::string& below)
{
    const UniqueFd folder(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return folder ? UniqueFd(sys::openat2(folder.get(), below.c_str(), how)) : UniqueFd();
}

/// The first one, as a beginning of `below`; the whole of that where it has gone meanwhile.
std::string link_on_the_way(const std::string& source, const std::string& below)
{
    for (std::size_t end = 0; end < below.size();) {
        end = std::min(below.find('/', end + 1), below.size());
        struct stat found{};
        auto beginning = below.substr(0, end);
        if (::lstat((source + beginning).c_str(), &found) == 0 && S_ISLNK(found.st_mode)) {
            return beginning;
        }
    }
    return below;
}

/// The launcher makes the folder or file that a mount covers; in a read-only mount it cannot.
/// `called`: what the outer one is.
void check_place(const sandbox::Mount& outer, const sandbox::Mount& inner,
                 const std::string& called)
{
    const auto below = inner.target.substr(outer.target.size());
    const auto place = outer.source + below;
    struct stat wanted{};
    struct stat found{};
    if (::stat(inner.source.c_str(), &wanted) != 0) {
        throw errno_error(errno, "stat " + inner.source);
    }
    const UniqueFd there = open_place(
        outer.source, below.substr(std::min(below.find_first_not_of('/'), below.size())));
    const bool is_linked = !there && errno == ELOOP;
    if (there && ::fstat(there.get(), &found) != 0) {
        throw errno_error(errno, "stat " + place);
    }
    if (there ? S_ISDIR(found.st_mode) == S_ISDIR(wanted.st_mode) : outer.writable) {
        return; // where it may be written to, the launcher makes the place, or tells of a link
    }
    if (is_linked) {
        const auto link = link_on_the_way(outer.source, below);
        throw refusal("mount target " + inner.target + " cannot be reached: " + outer.target +
                          link + " (on the host " + outer.source + link + ") is a symbolic link",
                      "name where the link leads inside of the sandbox, or mount it elsewhere");
    }
    const std::string kind = S_ISDIR(wanted.st_mode) ? "folder" : "file";
    throw refusal("mount target " + inner.target + " lies in the " +
                      (outer.writable ? "" : "read-only ") + called + ' ' + outer.target +
                      ", where there is no " + kind + " to mount it on",
                  "make the " + kind + ' ' + place + " on the host, or mount it elsewhere");
}

/// Every look at it would fail. (A folder that may be entered but not listed can be of use.)
void require_open_to_all(const std::string& path)
{
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        throw errno_error(errno, "stat " + path);
    }
    const bool folder = S_ISDIR(status.st_mode);
    if ((status.st_mode & (folder ? S_IXOTH : S_IROTH)) == 0) {
        throw refusal("mount source " + path + ": its mode lets only its owner or group " +
                          (folder ? "enter" : "read") +
                          " it, and what runs in the sandbox has another uid",
                      (folder ? "`chmod o+rx " : "`chmod o+r ") + path +
                          "` on the host, or mount it writable (:rw, mount_mode)");
    }
}

} // namespace

void check_mount_target(const std::string& target)
{
    if (!is_plain_path(target)) {
        throw refusal("mount target " + target + " is not a plain absolute path",
                      "write it without '.', '..', '//' and a '/' at the end");
    }
    const bool closed =
        std::find(closed_folders.begin(), closed_folders.end(), target) != closed_folders.end() ||
        std::any_of(closed_trees.begin(), closed_trees.end(),
                    [&](std::string_view tree) { return is_in(target, tree); });
    if (closed) {
        throw refusal(
            "mount target " + target + " would hide a part of the sandbox",
            "mount below /home/user, /mnt, /srv or /tmp, or on a folder of its own, such as "
            "/workspace");
    }
}

CheckedMounts checked_mounts(std::vector<sandbox::Mount> mounts, const std::vector<OwnFolder>& own,
                             const std::vector<Bind>& shown, bool own_uids)
{
    if (mounts.empty()) {
        return {};
    }
    std::map<std::string, FileId> sources;
    const auto table = MountTable::read();
    for (const auto& mount : mounts) {
        check_mount_target(mount.target);
        sources[mount.source] =
            check_source({.path = mount.source, .called = "mount source"}, own, table);
        if (own_uids && !mount.writable) {
            require_open_to_all(mount.source);
        }
    }
    // Otherwise a parent that is mounted later would hide what is below it.
    std::sort(mounts.begin(), mounts.end(),
              [](const auto& a, const auto& b) { return a.target < b.target; });
    const auto twice =
        std::adjacent_find(mounts.begin(), mounts.end(),
                           [](const auto& a, const auto& b) { return a.target == b.target; });
    if (twice != mounts.end()) {
        throw refusal("two mounts have the target " + twice->target, "give each its own");
    }
    for (auto inner = mounts.begin(); inner != mounts.end(); ++inner) {
        const auto outer =
            std::find_if(std::make_reverse_iterator(inner), mounts.rend(),
                         [&](const auto& each) { return is_in(inner->target, each.target); });
        if (outer != mounts.rend()) {
            check_place(*outer, *inner, "mount on");
            continue;
        }
        const auto part = std::find_if(shown.begin(), shown.end(), [&](const Bind& bind) {
            return bind.target != inner->target && is_in(inner->target, bind.target);
        });
        if (part != shown.end()) {
            check_place({.source = part->source, .target = part->target}, *inner,
                        "template's folder");
        }
    }
    return {.mounts = std::move(mounts), .sources = std::move(sources)};
}

} // namespace berth::local
