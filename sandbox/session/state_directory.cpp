#include "sandbox/session/state_directory.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"

#include <cerrno>
#include <exception>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace berth::session {
namespace {

// <linux/magic.h> of Debian 12 lacks these two; they are the kernel's fs/smb/client/cifsfs.h.
constexpr std::int64_t cifs_magic = 0xFF534D42;
constexpr std::int64_t smb2_magic = 0xFE534D42;

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
    UniqueFd fd;
    try {
        fd = open_or_make_directory(path);
    } catch (const std::exception& error) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the state directory " + path + " cannot be used: " + error.what(),
                    "set BERTH_STATE_DIR (or --state-dir) to a folder that you may write to");
    }
    struct statfs system{};
    struct stat status{};
    if (::fstatfs(fd.get(), &system) != 0 || ::fstat(fd.get(), &status) != 0) {
        throw errno_error(errno, "look at the state directory " + path);
    }
    const std::string network = network_file_system(system.f_type);
    if (!network.empty()) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the state directory " + path + " is on " + network +
                        ", whose locks cannot keep two servers from making one session twice",
                    "set BERTH_STATE_DIR (or --state-dir) to a directory on a local disk");
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the state directory " + path +
                        " belongs to another user or others may write "
                        "to it",
                    "run `chmod 700 " + path +
                        "`, or set BERTH_STATE_DIR to a directory of your "
                        "own");
    }
    return fd;
}

} // namespace berth::session
