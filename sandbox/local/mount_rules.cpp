#include "sandbox/local/mount_rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/mount_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

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

Error of_berth(const std::string& source, const OwnFolder& own, const std::string& seen_at)
{
    const auto seen =
        seen_at == source || seen_at == own.path ? "" : ", which is seen at " + seen_at;
    return refusal(
        "mount source " + source + " contains or lies in berth's own folder " + own.path + seen,
        own.setting.empty() ? "mount another folder"
                            : "mount another folder, or move berth's with " + own.setting);
}

bool is_plain(std::string_view path)
{
    if (path.empty() || path.front() != '/' || path.size() > 4000 ||
        path.find('\0') != std::string_view::npos) {
        return false;
    }
    if (path == "/") {
        return true;
    }
    path.remove_prefix(1);
    for (;;) {
        const auto slash = path.find('/');
        const auto name = path.substr(0, slash);
        if (name.empty() || name == "." || name == ".." || name.size() > 255) {
            return false;
        }
        if (slash == std::string_view::npos) {
            return true;
        }
        path.remove_prefix(slash + 1);
    }
}

bool is_in(std::string_view path, std::string_view tree)
{
    return path == tree || (path.starts_with(tree) && path.substr(tree.size()).starts_with('/'));
}

/// By their names in /proc/self/mountinfo: what is mounted below a source need not be reachable
/// for statfs(2). With a writable one a command could change the kernel's settings; devtmpfs has
/// the host's devices. (autofs is none of them: it only waits for a disk.)
constexpr std::array<std::string_view, 22> kernel_types{
    "proc",       "sysfs",   "cgroup",      "cgroup2",    "devpts",    "devtmpfs",
    "debugfs",    "tracefs", "bpf",         "securityfs", "configfs",  "pstore",
    "efivarfs",   "mqueue",  "fusectl",     "hugetlbfs",  "selinuxfs", "smackfs",
    "rpc_pipefs", "nfsd",    "binfmt_misc", "functionfs"};

using FileId = std::pair<dev_t, ino_t>;

FileId id_of(int fd, const std::string& path)
{
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw errno_error(errno, "stat " + path);
    }
    return {status.st_dev, status.st_ino};
}

/// Whether `folder` is `inner` or an ancestor of it. By identity, not by name: a bind mount gives
/// one folder several names.
bool contains(const FileId& folder, const std::string& inner)
{
    UniqueFd at(::open(inner.c_str(), O_PATH | O_CLOEXEC));
    if (!at) {
        return false;
    }
    struct stat status{};
    if (::fstat(at.get(), &status) == 0 && !S_ISDIR(status.st_mode)) {
        const auto slash = inner.rfind('/');
        return id_of(at.get(), inner) == folder ||
               contains(folder, slash == 0 ? "/" : inner.substr(0, slash));
    }
    FileId id = id_of(at.get(), inner);
    for (;;) {
        if (id == folder) {
            return true;
        }
        UniqueFd parent(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!parent) {
            return false;
        }
        const FileId parent_id = id_of(parent.get(), inner);
        if (parent_id == id) {
            return false;
        }
        id = parent_id;
        at = std::move(parent);
    }
}

std::string real_path_or_none(const std::string& path)
{
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : std::string();
}

UniqueFd open_source(const std::string& source)
{
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(sys::openat2(AT_FDCWD, source.c_str(), how));
    if (fd) {
        return fd;
    }
    if (errno == ELOOP) {
        throw refusal("mount source " + source + " is reached through a symbolic link",
                      "give its real path, " + real_path_or_none(source));
    }
    const int number = errno;
    throw refusal("mount source " + source + ": " + std::strerror(number),
                  number == EACCES ? "who runs berth (uid " + std::to_string(::geteuid()) +
                                         ") may not enter a folder on the way"
                                   : "it must exist on the host");
}

/// An ordinary user's sandbox has no more rights than the user: every look at it would fail. (A
/// folder that may be entered but not listed can be of use.)
void require_access(int fd, bool directory, const std::string& source)
{
    if (::faccessat(fd, "", directory ? X_OK : R_OK, AT_EACCESS | AT_EMPTY_PATH) != 0 &&
        errno == EACCES) {
        throw refusal("mount source " + source + ": who runs berth (uid " +
                          std::to_string(::geteuid()) + ") may not " +
                          (directory ? "enter" : "read") + " it",
                      "change its mode or owner on the host, or mount another one");
    }
}

void refuse_kernel_file_system(int fd, const std::string& source)
{
    struct statfs status{};
    if (::fstatfs(fd, &status) != 0) {
        throw errno_error(errno, "statfs " + source);
    }
    constexpr std::array<std::uint32_t, 9> magics{
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,       BPF_FS_MAGIC,       SECURITYFS_MAGIC};
    const auto magic = static_cast<std::uint32_t>(status.f_type);
    if (std::find(magics.begin(), magics.end(), magic) != magics.end()) {
        throw refusal("mount source " + source + " belongs to a file system of the kernel",
                      "only folders and files with data can be mounted");
    }
}

/// The source with what is mounted below it: the launcher takes all of it inside.
void check_below(const MountTable& mounts, const std::string& source,
                 const std::vector<OwnFolder>& own)
{
    const auto pieces = mounts.pieces(source);
    const auto kernels = std::find_if(pieces.begin(), pieces.end(), [](const auto& piece) {
        return std::find(kernel_types.begin(), kernel_types.end(), piece.type) !=
               kernel_types.end();
    });
    if (kernels != pieces.end()) {
        throw refusal("mount source " + source + " has a file system of the kernel in it: " +
                          kernels->type + " on " + kernels->name,
                      "mount the folders beside it one by one, or unmount " + kernels->name);
    }
    for (const auto& folder : own) {
        const auto seen = seen_at(pieces, mounts.pieces(real_place(folder.path)));
        if (!seen.empty()) {
            throw of_berth(source, folder, seen.front());
        }
    }
}

/// The launcher makes the folder or file that a mount covers; in a read-only mount it cannot.
void check_place(const sandbox::Mount& outer, const sandbox::Mount& inner)
{
    const auto place = outer.source + inner.target.substr(outer.target.size());
    struct stat wanted{};
    struct stat found{};
    if (::stat(inner.source.c_str(), &wanted) != 0) {
        throw errno_error(errno, "stat " + inner.source);
    }
    const bool there = ::stat(place.c_str(), &found) == 0;
    if (there ? S_ISDIR(found.st_mode) == S_ISDIR(wanted.st_mode) : outer.writable) {
        return;
    }
    const std::string kind = S_ISDIR(wanted.st_mode) ? "folder" : "file";
    throw refusal("mount target " + inner.target + " lies in the " +
                      (outer.writable ? "" : "read-only ") + "mount on " + outer.target +
                      ", where there is no " + kind + " to mount it on",
                  "make the " + kind + ' ' + place + " on the host, or mount it elsewhere");
}

} // namespace

void check_mount_target(const std::string& target)
{
    if (!is_plain(target)) {
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

namespace {

void check_source(const std::string& source, const std::vector<OwnFolder>& own,
                  const MountTable& mounts)
{
    if (!is_plain(source)) {
        throw refusal("mount source " + source + " is not a plain absolute path",
                      "write it without '.', '..', '//' and a '/' at the end");
    }
    const UniqueFd fd = open_source(source);
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) {
        throw errno_error(errno, "stat " + source);
    }
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
        throw refusal("mount source " + source + " is neither a folder nor a file",
                      "sockets, pipes and devices of the host cannot be mounted");
    }
    require_access(fd.get(), S_ISDIR(status.st_mode), source);
    refuse_kernel_file_system(fd.get(), source);
    for (const auto& folder : own) {
        const UniqueFd at(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (at && (contains({status.st_dev, status.st_ino}, folder.path) ||
                   contains(id_of(at.get(), folder.path), source))) {
            throw of_berth(source, folder, source);
        }
    }
    check_below(mounts, source, own);
}

} // namespace

std::vector<sandbox::Mount> checked_mounts(std::vector<sandbox::Mount> mounts,
                                           const std::vector<OwnFolder>& own)
{
    if (mounts.empty()) {
        return mounts;
    }
    const auto table = MountTable::read();
    for (const auto& mount : mounts) {
        check_mount_target(mount.target);
        check_source(mount.source, own, table);
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
            check_place(*outer, *inner);
        }
    }
    return mounts;
}

} // namespace berth::local
