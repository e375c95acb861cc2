#include "sandbox/local/launcher/trees.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/identity.hpp"

#include <utility>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "mounts";

/// A detached clone of the mount that the source is on; none when it cannot be had.
UniqueFd clone_source(const Bind& bind)
{
    constexpr unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    if (bind.follow_links) {
        return UniqueFd(::open_tree(AT_FDCWD, bind.source.c_str(), flags));
    }
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
    const UniqueFd source(sys::openat2(AT_FDCWD, bind.source.c_str(), how));
    return UniqueFd(source ? ::open_tree(source.get(), "", flags | AT_EMPTY_PATH) : -1);
}

void map_owner(int tree, const struct stat& source, const Bind& bind, const LaunchSpec& spec)
{
    const UniqueFd map = make_owner_map(source.st_uid, source.st_gid, spec);
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<unsigned>(map.get());
    const int result =
        ::mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes);
    if (result != 0) {
        throw Failure(source.st_uid == 0 ? step_idmap_of_root : step_idmap, errno,
                      "map the owner of the files in " + bind.source);
    }
}

Tree clone_tree(const Bind& bind, const LaunchSpec& spec)
{
    Tree tree;
    tree.mount = clone_source(bind);
    if (!tree.mount && bind.optional) {
        return {};
    }
    require(tree.mount.valid(), step, "clone the mount of " + bind.source);
    struct stat status{};
    require(::fstat(tree.mount.get(), &status) == 0, step, "stat " + bind.source);
    // Judged by its name, then mounted by its name: in between whoever may rename what is beside it
    // could put a folder in its place that would have been refused, the kernel's settings in it.
    if (bind.source_number != 0 &&
        (status.st_dev != bind.source_device || status.st_ino != bind.source_number)) {
        throw Failure(step, 0, bind.source + " was exchanged for another one at this moment");
    }
    tree.directory = S_ISDIR(status.st_mode);
    if (bind.id_mapped) {
        map_owner(tree.mount.get(), status, bind, spec);
    }
    mount_attr attributes{};
    // nosuid: a set-uid file of the host would be one inside too. nodev: a device node in a
    // writable folder would be the device.
    attributes.attr_set = MOUNT_ATTR_NOSUID | (bind.devices ? 0 : MOUNT_ATTR_NODEV) |
                          (bind.writable ? 0 : MOUNT_ATTR_RDONLY);
    // Left shared, mounts made inside would appear on the host, and the host's inside.
    attributes.propagation = MS_PRIVATE;
    require(::mount_setattr(tree.mount.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                            sizeof attributes) == 0,
            step, "set the flags of the mount of " + bind.source);
    return tree;
}

/// A mount of its own of what is at `path`, detached, with these flags.
UniqueFd clone_with(const char* failing, const std::string& path, std::uint64_t flags)
{
    UniqueFd mount(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    require(mount.valid(), failing, "clone the mount of " + path);
    mount_attr attributes{};
    attributes.attr_set = flags;
    attributes.propagation = MS_PRIVATE;
    require(::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0,
            failing, "set the flags of the mount of " + path);
    return mount;
}

} // namespace

std::vector<Tree> clone_trees(const std::vector<Bind>& binds, const LaunchSpec& spec, bool late)
{
    std::vector<Tree> trees;
    trees.reserve(binds.size());
    for (const auto& bind : binds) {
        trees.push_back(bind.late == late ? clone_tree(bind, spec) : Tree());
    }
    return trees;
}

Tree to_tree(UniqueFd mount)
{
    struct stat status{};
    require(::fstat(mount.get(), &status) == 0, step, "stat a mount");
    return {.mount = std::move(mount), .directory = S_ISDIR(status.st_mode)};
}

UniqueFd open_program(const std::string& path)
{
    return clone_with("guest", path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

UniqueFd clone_cover(const char* failing, const UniqueFd& source)
{
    UniqueFd cover(
        ::open_tree(source.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    require(cover.valid(), failing, "clone a cover");
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    require(::mount_setattr(cover.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0,
            failing, "make a cover read-only");
    return cover;
}

UniqueFd clone_directory(const std::string& path)
{
    return clone_with("cgroup", path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

} // namespace berth::local
