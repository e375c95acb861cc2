#include "sandbox/local/runtime_folder.hpp"

#include "sandbox/base/error.hpp"

#include <cerrno>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

bool make_private(const std::string& path)
{
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return false;
    }
    struct stat status{};
    // Somebody else's folder of that name, or one that others may write: they could put a socket
    // of theirs in the guest's place.
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

} // namespace

std::string runtime_folder(const std::string& state, bool privileged)
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the server changes no environment after its start
    const char* runtime = privileged ? "/run" : std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && runtime[0] == '/') {
        std::string path = std::string(runtime) + "/berth";
        if (make_private(path)) {
            return path;
        }
    }
    std::string path = state + "/sockets";
    if (!make_private(path)) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "no private folder for the sockets of sandboxes: " + path +
                        " cannot be made, belongs to another user, or is open to others",
                    "chmod 700 " + path + ", or remove it while no sandbox runs");
    }
    return path;
}

} // namespace berth::local
