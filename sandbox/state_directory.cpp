#include "sandbox/state_directory.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/host_limit.hpp"
#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace berth::sandbox {
namespace {

// <linux/magic.h> of Debian 12 lacks these two; they are the kernel's fs/smb/client/cifsfs.h.
constexpr std::int64_t cifs_magic = 0xFF534D42;
constexpr std::int64_t smb2_magic = 0xFE534D42;

constexpr const char* another =
    "set BERTH_STATE_DIR (or --state-dir) to a folder of your own on a local disk";

Error unusable(const std::string& path, const std::string& why, const std::string& remedy = another)
{
    return {ErrorCode::sandbox_unavailable, "the state directory " + path + ' ' + why, remedy};
}

/// A limit of this process is no fault of the directory.
Error unopened(const std::string& path, int error)
{
    const std::string why = std::strerror(error);
    if (const auto limit = host_limit(error)) {
        return unusable(path, "cannot be opened: " + limit->reason + " (" + why + ')',
                        limit->remedy);
    }
    const auto obstacle = error == ENOTDIR ? obstacle_on(path) : std::string();
    return unusable(path,
                    "cannot be used: " + (obstacle.empty() ? why : obstacle + " (" + why + ')'));
}

std::string user_of(uid_t uid)
{
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    return found != nullptr ? found->pw_name : "uid " + std::to_string(uid);
}

/// Whether nothing is in it but what berth puts there. Of any other folder nobody may be told to
/// take rights away: /tmp without its 1777 breaks the host.
bool is_berths(int fd)
{
    constexpr std::array<std::string_view, 10> own{
        "ahead", "errors.1.jsonl", "errors.jsonl", "errors.unkept", "installation",
        "marks", "sessions",       "sockets",      "uids",          "workspace"};
    const auto names = directory_names(fd);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return std::find(own.begin(), own.end(), name) != own.end() ||
               name.starts_with("installation."); // of a server that was killed as it made that
    });
}

void refuse_file_system(int fd, const std::string& path)
{
    struct statfs system{};
    if (::fstatfs(fd, &system) != 0) {
        throw errno_error(errno, "look at the state directory " + path, another);
    }
    if (const auto network = network_file_system(system.f_type); !network.empty()) {
        throw unusable(path, "is on " + network +
                                 ", whose locks cannot keep two servers from making one session "
                                 "twice");
    }
}

void judge(int fd, const std::string& path)
{
    refuse_file_system(fd, path);
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw errno_error(errno, "look at the state directory " + path, another);
    }
    if (status.st_uid != ::geteuid()) {
        throw unusable(path, "belongs to another user, " + user_of(status.st_uid));
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        throw unusable(path, "may be written to by other users",
                       is_berths(fd) ? "run `chmod 700 '" + path + "'`"
                                     : std::string(another) + "; this one is not berth's alone");
    }
    if (::faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        throw unusable(path, std::string("cannot be written to: ") + std::strerror(errno));
    }
}

/// Of a folder that is missing: whether it could be made where its nearest parent is.
void judge_parent(const std::string& path)
{
    for (auto slash = path.rfind('/'); slash != std::string::npos;
         slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
        const auto parent = slash == 0 ? "/" : path.substr(0, slash);
        const UniqueFd fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!fd && errno == ENOENT) {
            continue;
        }
        // Of a kernel's file system access(2) says yes to root.
        struct statfs system{};
        const bool kernel = fd && ::fstatfs(fd.get(), &system) == 0 &&
                            (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
        if (!fd || kernel || ::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
            throw unusable(
                path, "cannot be made in " + parent + ": " +
                          (kernel ? "it is a file system of the kernel" : std::strerror(errno)));
        }
        refuse_file_system(fd.get(), path);
        return;
    }
}

} // namespace

std::string network_file_system(std::int64_t magic)
{
    // Some of these numbers have bit 31 set, which a 32-bit f_type would have sign-extended.
    switch (magic & 0xFFFFFFFF) {
    case NFS_SUPER_MAGIC:
        return "NFS";
    case V9FS_MAGIC:
        return "9p";
    case SMB_SUPER_MAGIC:
    case cifs_magic:
    case smb2_magic:
        return "SMB";
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
        return "AFS";
    default:
        return {};
    }
}

UniqueFd open_state_directory(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && (host_limit(errno) || errno == ENOTDIR)) {
        throw unopened(path, errno);
    }
    try {
        if (!fd) {
            fd = open_or_make_directory(path);
        }
    } catch (const std::exception& error) {
        throw unusable(path, std::string("cannot be used: ") + error.what());
    }
    judge(fd.get(), path);
    return fd;
}

UniqueFd find_state_directory(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) {
        judge(fd.get(), path);
    } else if (errno == ENOENT) {
        judge_parent(path);
    } else {
        throw unopened(path, errno);
    }
    return fd;
}

std::optional<Error> why_unwritable(const std::string& path)
try {
    const UniqueFd trial(::open(path.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    if (!trial) {
        throw_errno("make a file");
    }
    // A whole block, and on the disk: what is only in memory fails later, when nobody looks.
    write_full(trial.get(), std::string(4096, 'x'));
    if (::fdatasync(trial.get()) != 0) {
        throw_errno("fdatasync");
    }
    return std::nullopt;
} catch (const std::system_error& failed) {
    const int error = failed.code().value();
    if (error == ENOENT || error == EOPNOTSUPP || error == EISDIR) { // the last two: O_TMPFILE
        return std::nullopt;
    }
    return write_error(error, "nothing can be written", "write to the state directory " + path,
                       "Its disk must be writable for who runs berth; --state-dir or "
                       "BERTH_STATE_DIR names another directory.");
}

std::optional<Error> full_disk(int error, const std::string& what)
{
    if (error != ENOSPC && error != EDQUOT) {
        return std::nullopt;
    }
    return Error(
        ErrorCode::no_space, what + ": the disk that holds berth's state directory is full",
        "Free some space on it: `berth config` shows its path (state_dir), `berth sessions "
        "kill KEY --purge` removes a session with its files, with --no-save also those that "
        "session.save_on_end has still to save.");
}

Error write_error(int error, const std::string& what, const std::string& doing,
                  const std::string& hint)
{
    if (auto full = full_disk(error, what)) {
        return *std::move(full);
    }
    return access_error(error, doing, hint);
}

Error access_error(int error, const std::string& doing, const std::string& hint)
{
    if (error == EIO) { // which no right over the folder and no other try mends
        return errno_error(error, doing);
    }
    const auto limit = host_limit(error);
    return errno_error(error, limit ? doing + ": " + limit->reason : doing,
                       limit ? limit->remedy : hint);
}

} // namespace berth::sandbox
