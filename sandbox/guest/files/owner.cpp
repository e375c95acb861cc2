#include "sandbox/guest/files/owner.hpp"

#include "sandbox/base/visible.hpp"

#include <utility>

#include <unistd.h>

namespace berth::guest {

Error not_writable(const struct stat& status, const std::string& what, const std::string& rest,
                   std::string hint)
{
    const uid_t self = ::geteuid();
    if (status.st_uid == self || self == 0) {
        return {ErrorCode::permission_denied, what + rest, std::move(hint)};
    }
    return {ErrorCode::permission_denied,
            what + ", as it belongs to another user of the host" + rest,
            "chmod cannot change that here. Work on a copy in a folder of your own (cp in "
            "bash_exec), or ask the operator to give it to the owner of the mounted folder (chown "
            "on the host)."};
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
