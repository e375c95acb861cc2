#include "sandbox/local/launcher/root.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/obstacle.hpp"

#include <utility>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "mounts";
// Exists everywhere, and no source of a mount is below it, as could be with /tmp: some are opened
// only later. Covered in the child's own mount namespace only.
constexpr const char* base = "/proc";

std::pair<std::string_view, std::string_view> split(std::string_view path)
{
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) {
        return {{}, path};
    }
    return {path.substr(0, slash), path.substr(slash + 1)};
}

UniqueFd open_below(int directory, const std::string& name, std::uint64_t flags)
{
    open_how how{};
    how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(sys::openat2(directory, name.c_str(), how));
}

} // namespace

UniqueFd new_mount(const char* type, const MountOptions& options, unsigned attributes)
{
    const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
    require(context.valid(), type, std::string("fsopen ") + type);
    for (const auto& [name, value] : options) {
        const int result =
            value.empty()
                ? ::fsconfig(context.get(), FSCONFIG_SET_FLAG, name.c_str(), nullptr, 0)
                : ::fsconfig(context.get(), FSCONFIG_SET_STRING, name.c_str(), value.c_str(), 0);
        require(result == 0, type, std::string(type) + " option " + name);
    }
    require(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0, type,
            std::string("make a ") + type);
    UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
    require(mount.valid(), type, std::string("mount a ") + type);
    return mount;
}

Root::Root(UniqueFd prepared) : root_(std::move(prepared))
{
    mount_attr attributes{};
    attributes.propagation = MS_PRIVATE;
    require(::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) == 0, step,
            "make the mounts private");
    if (!root_) {
        root_ = new_mount("tmpfs", {{"size", "4m"}, {"nr_inodes", "4096"}, {"mode", "0755"}},
                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    }
    require(::move_mount(root_.get(), "", AT_FDCWD, base, MOVE_MOUNT_F_EMPTY_PATH) == 0, step,
            std::string("mount the new root over ") + base);
}

UniqueFd Root::make_directory(std::string_view path) const
{
    while (!path.empty() && path.front() == '/') {
        path.remove_prefix(1);
    }
    // Nearly always it is there already: one call instead of one for each part.
    UniqueFd at =
        open_below(root_.get(), path.empty() ? "." : std::string(path), O_PATH | O_DIRECTORY);
    if (at || errno != ENOENT) {
        require(at.valid(), step, "open directory " + std::string(path) + " in the sandbox");
        return at;
    }
    const auto [parent, name] = split(path);
    at = make_directory(parent);
    const std::string last(name);
    require(::mkdirat(at.get(), last.c_str(), 0755) == 0, step, "make directory " + last);
    UniqueFd made = open_below(at.get(), last, O_PATH | O_DIRECTORY);
    require(made.valid(), step, "open directory " + last + " in the sandbox");
    return made;
}

int Root::parent_of(std::string_view path) const
{
    const auto parent = split(path).first;
    // What is made in turn is mostly in one folder; each look-up of it would be one more.
    if (!parent_ || parent != parent_path_) {
        parent_ = make_directory(parent);
        parent_path_ = parent;
    }
    return parent_.get();
}

void Root::write_file(const TextFile& file) const
{
    const std::string name(split(file.path).second);
    const UniqueFd fd(::openat(parent_of(file.path), name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               file.executable ? 0555 : 0444));
    require(fd.valid(), step, "create " + file.path);
    write_full(fd.get(), file.content);
}

void Root::make_link(const SymbolicLink& link) const
{
    const std::string name(split(link.path).second);
    require(::symlinkat(link.target.c_str(), parent_of(link.path), name.c_str()) == 0, step,
            "link " + link.path);
}

void Root::attach(const Tree& tree, const std::string& target) const
{
    const int parent = parent_of(target);
    const std::string name(split(target).second);
    if (name.empty() || name == "." || name == "..") {
        throw Failure(step, EINVAL, "mount " + target);
    }
    const int made = tree.directory ? ::mkdirat(parent, name.c_str(), 0755)
                                    : ::mknodat(parent, name.c_str(), S_IFREG | 0444, 0);
    require(made == 0 || errno == EEXIST, step, "create " + target);
    // The name is one part of a path and no link is followed there: an earlier machine's link is
    // an error, or covered, and leads nowhere.
    require(::move_mount(tree.mount.get(), "", parent, name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0,
            step, "mount " + target);
}

void Root::attach_all(const std::vector<Tree>& trees, const std::vector<Bind>& binds) const
{
    for (std::size_t i = 0; i < binds.size(); ++i) {
        if (!trees.at(i).mount) {
            continue;
        }
        try {
            attach(trees[i], binds[i].target);
        } catch (const Failure&) {
            if (const auto obstacle = find_obstacle(fd(), binds, i, trees[i].directory)) {
                throw Failure(obstacle->step, 0, obstacle->text);
            }
            throw;
        }
    }
}

void Root::hide(const std::string& path) const
{
    const UniqueFd place = open_below(root_.get(), path.substr(1), O_PATH);
    if (!place && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
        return;
    }
    require(place.valid(), step, "open " + path + " in the sandbox");
    struct stat status{};
    require(::fstat(place.get(), &status) == 0, step, "stat " + path);
    const UniqueFd empty = S_ISDIR(status.st_mode) ? make_directory("/dev/empty")
                                                   : open_below(root_.get(), "dev/null", O_PATH);
    require(empty.valid(), step, "open a cover");
    const UniqueFd cover = clone_cover(step, empty);
    require(::move_mount(cover.get(), "", place.get(), "",
                         MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0,
            step, "cover " + path);
}

void Root::add(const RootParts& parts, const std::vector<Tree>& trees) const
{
    for (const auto& directory : parts.directories) {
        (void)make_directory(directory);
    }
    attach_all(trees, parts.binds);
    for (const auto& cover : parts.hidden) {
        hide(cover.target);
    }
    for (const auto& file : parts.files) {
        write_file(file);
    }
    for (const auto& link : parts.links) {
        make_link(link);
    }
}

void Root::mount_new(const char* type, const std::string& target, const MountOptions& options,
                     unsigned attributes) const
{
    Tree tree;
    tree.mount = new_mount(type, options, attributes);
    attach(tree, target);
}

void Root::enter() const
{
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    require(::mount_setattr(root_.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0,
            step, "make the root read-only");
    require(::fchdir(root_.get()) == 0, step, "enter the new root");
    // pivot_root(".", ".") stacks the old root on the new one; detaching "." removes the old.
    require(sys::pivot_root(".", ".") == 0, step, "pivot_root");
    require(::umount2(".", MNT_DETACH) == 0, step, "detach the host's root");
    require(::chdir("/") == 0, step, "enter /");
}

} // namespace berth::local
