#include "sandbox/local/source_rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/real_path.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace berth::local {
namespace {

Error refusal(const std::string& message, const std::string& hint)
{
    return {ErrorCode::invalid_argument, message, hint};
}

std::string shown(const Source& source)
{
    return source.called + ' ' + source.path;
}

Error of_berth(const Source& source, const OwnFolder& own, const std::string& seen_at)
{
    const auto seen =
        seen_at == source.path || seen_at == own.path ? "" : ", which is seen at " + seen_at;
    return refusal(shown(source) + " contains or lies in berth's own folder " + own.path + seen,
                   own.setting.empty()
                       ? "take another folder"
                       : "take another folder, or move berth's with " + own.setting);
}

/// By their names in /proc/self/mountinfo: what is mounted below a source need not be reachable
/// for statfs(2). With a writable one a command could change the kernel's settings; devtmpfs has
/// the host's devices. (autofs is none of them: it only waits for a disk.)
constexpr std::array<std::string_view, 22> kernel_types{
    "proc",       "sysfs",   "cgroup",      "cgroup2",    "devpts",    "devtmpfs",
    "debugfs",    "tracefs", "bpf",         "securityfs", "configfs",  "pstore",
    "efivarfs",   "mqueue",  "fusectl",     "hugetlbfs",  "selinuxfs", "smackfs",
    "rpc_pipefs", "nfsd",    "binfmt_misc", "functionfs"};

UniqueFd open_source(const Source& source)
{
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(sys::openat2(AT_FDCWD, source.path.c_str(), how));
    if (fd) {
        return fd;
    }
    if (errno == ELOOP) {
        throw refusal(shown(source) + " is reached through a symbolic link",
                      "give its real path, " + real_path(source.path).value_or(""));
    }
    const int number = errno;
    throw refusal(shown(source) + ": " + std::strerror(number),
                  number == EACCES ? "who runs berth (uid " + std::to_string(::geteuid()) +
                                         ") may not enter a folder on the way"
                                   : "it must exist on the host");
}

/// An ordinary user's sandbox has no more rights than the user: every look at it would fail. (A
/// folder that may be entered but not listed can be of use.)
void require_access(int fd, bool directory, const Source& source)
{
    if (::faccessat(fd, "", directory ? X_OK : R_OK, AT_EACCESS | AT_EMPTY_PATH) != 0 &&
        errno == EACCES) {
        throw refusal(shown(source) + ": who runs berth (uid " + std::to_string(::geteuid()) +
                          ") may not " + (directory ? "enter" : "read") + " it",
                      "change its mode or owner on the host, or take another one");
    }
}

[[noreturn]] void refuse_as_the_kernels(const Source& source)
{
    throw refusal(shown(source) + " belongs to a file system of the kernel",
                  "it cannot be mounted, only folders and files with data can");
}

void refuse_kernel_file_system(int fd, const Source& source)
{
    struct statfs status{};
    if (::fstatfs(fd, &status) != 0) {
        throw errno_error(errno, "statfs " + source.path);
    }
    constexpr std::array<std::uint32_t, 9> magics{
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,       BPF_FS_MAGIC,       SECURITYFS_MAGIC};
    const auto magic = static_cast<std::uint32_t>(status.f_type);
    if (std::find(magics.begin(), magics.end(), magic) != magics.end()) {
        refuse_as_the_kernels(source);
    }
}

/// The source with what is mounted below it: the launcher takes all of it inside.
void check_below(const MountTable& mounts, const Source& source, const std::vector<OwnFolder>& own)
{
    const auto pieces = mounts.pieces(source.path);
    const auto kernels = std::find_if(pieces.begin(), pieces.end(), [](const auto& piece) {
        return std::find(kernel_types.begin(), kernel_types.end(), piece.type) !=
               kernel_types.end();
    });
    if (kernels != pieces.end() && (kernels->name == source.path || source.path == "/dev")) {
        refuse_as_the_kernels(source);
    }
    if (kernels != pieces.end()) {
        throw refusal(shown(source) + " has a file system of the kernel in it: " + kernels->type +
                          " on " + kernels->name,
                      "take the folders beside it one by one, or unmount " + kernels->name);
    }
    for (const auto& folder : own) {
        const auto seen = seen_at(pieces, mounts.pieces(real_place(folder.path)));
        if (!seen.empty()) {
            throw of_berth(source, folder, seen.front());
        }
    }
}

} // namespace

FileId id_of(int fd, const std::string& path)
{
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw errno_error(errno, "stat " + path);
    }
    return {status.st_dev, status.st_ino};
}

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

bool is_plain_path(std::string_view path)
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

FileId check_source(const Source& source, const std::vector<OwnFolder>& own,
                    const MountTable& mounts)
{
    if (!is_plain_path(source.path)) {
        throw refusal(shown(source) + " is not a plain absolute path",
                      "write it without '.', '..', '//' and a '/' at the end");
    }
    const UniqueFd fd = open_source(source);
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) {
        throw errno_error(errno, "stat " + source.path);
    }
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
        throw refusal(shown(source) + " is neither a folder nor a file",
                      "sockets, pipes and devices of the host cannot be mounted");
    }
    require_access(fd.get(), S_ISDIR(status.st_mode), source);
    refuse_kernel_file_system(fd.get(), source);
    for (const auto& folder : own) {
        const UniqueFd at(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (at && (contains({status.st_dev, status.st_ino}, folder.path) ||
                   contains(id_of(at.get(), folder.path), source.path))) {
            throw of_berth(source, folder, source.path);
        }
    }
    check_below(mounts, source, own);
    return {status.st_dev, status.st_ino};
}

} // namespace berth::local
