#include "sandbox/guest/files/owner.hpp"

#include "sandbox/base/visible.hpp"

#include <string_view>
#include <utility>

#include <unistd.h>

namespace berth::guest {

namespace {

/// Whose it is, where that and not its mode keeps the user from writing; else empty.
std::string_view other_owner(const struct stat& status)
{
    constexpr gid_t unknown_group = 65534; // the kernel's overflowgid
    const uid_t self = ::geteuid();
    if (self == 0) {
        return {};
    }
    if (status.st_uid != self) {
        return "user";
    }
    // The kernel lets nobody write to an inode with an id that the mount does not map.
    const bool may_by_mode = (status.st_mode & S_IWUSR) != 0;
    return may_by_mode && status.st_gid == unknown_group ? "group" : "";
}

} // namespace

Error not_writable(const struct stat& status, const std::string& what, const std::string& rest,
                   std::string hint)
{
    const std::string owner(other_owner(status));
    if (owner.empty()) {
        return {ErrorCode::permission_denied, what + rest, std::move(hint)};
    }
    return {ErrorCode::permission_denied,
            what + ", as it belongs to another " + owner + " of the host" + rest,
            "chmod cannot change that here. Work on a copy in a folder of your own (cp in "
            "bash_exec), or ask the operator to give it to the owner and group of the mounted "
            "folder (chown on the host)."};
}

Error folder_not_writable(int fd, const std::string& path, const std::string& cannot)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0) {
        status.st_uid = ::geteuid(); // then its mode is the better guess
    }
    return not_writable(status, "the folder " + visible(path) + " may not be written to",
                        ": " + cannot,
                        "See its mode and owner with ls -ld in bash_exec; chmod u+w it if it "
                        "should be changed, or write elsewhere.");
}

} // namespace berth::guest
