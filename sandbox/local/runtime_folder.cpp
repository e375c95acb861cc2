#include "sandbox/local/runtime_folder.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"

#include <array>
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

/// Some of those that a container or a virtual machine has from its host have no sockets.
bool holds_sockets(const std::string& folder)
{
    // By chance: the servers of two containers may have one process id.
    const auto name = folder + '/' + std::string(probe_prefix) + random_hex(8);
    const bool made = ::mknod(name.c_str(), S_IFSOCK | 0600, 0) == 0;
    ::unlink(name.c_str());
    return made;
}

std::string below(const char* folder)
{
    return folder != nullptr && folder[0] == '/' ? std::string(folder) + "/berth" : std::string();
}

[[noreturn]] void throw_none(const std::string& folder)
{
    throw Error(ErrorCode::sandbox_unavailable,
                "no private folder for the sockets of sandboxes: " + folder +
                    " cannot be made, belongs to another user, is open to others, or is on a file "
                    "system without sockets",
                "chmod 700 " + folder + ", or remove it while no sandbox runs; or set " +
                    "BERTH_STATE_DIR (or --state-dir) to a folder on a local disk");
}

} // namespace

void renew_runtime_folder(const std::string& folder)
{
    if (::access(folder.c_str(), F_OK) != 0 && !make_private(folder)) {
        throw_none(folder);
    }
}

std::string runtime_folder(const std::string& state, bool privileged)
{
    const std::string ours = state + "/sockets";
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the server changes no environment after its start
    const auto other = below(privileged ? "/run" : std::getenv("XDG_RUNTIME_DIR"));
    for (const auto& path : privileged ? std::array{other, ours} : std::array{ours, other}) {
        if (!path.empty() && make_private(path) && holds_sockets(path)) {
            return path;
        }
    }
    throw_none(ours);
}

} // namespace berth::local
