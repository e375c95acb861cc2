#include "sandbox/local/stale_sockets.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/directory.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/runtime_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::string_view suffix = ".sock";

struct Attempt {
    UniqueFd socket; ///< invalid: not connected
    int error = 0;
};

Attempt try_connect(int folder, const std::string& name) noexcept
{
    // sun_path holds 107 bytes; this is short however long the folder's path is.
    const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return {{}, ENAMETOOLONG};
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return {{}, errno};
    }
    return {std::move(socket), 0};
}

Attempt try_connect(const std::string& path) noexcept
{
    const auto slash = path.rfind('/');
    const UniqueFd folder(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return folder ? try_connect(folder.get(), path.substr(slash + 1)) : Attempt{{}, errno};
}

bool refused(int error) noexcept
{
    return error == ECONNREFUSED || error == ENOENT;
}

void remove_if_stale(int folder, const std::string& name, const CgroupLayout& cgroups)
{
    if (try_connect(folder, name).error != ECONNREFUSED) {
        return;
    }
    const std::string id = name.substr(0, name.size() - suffix.size());
    bool empty = true;
    for (const auto& cgroup : session_cgroups(cgroups, id)) {
        // No patience: nothing is killed, and the kernel keeps what has a process in it.
        empty = remove_cgroup(cgroup, Deadline::after(std::chrono::seconds(0))) && empty;
    }
    if (empty) {
        ::unlinkat(folder, name.c_str(), 0);
    }
}

void forget_socket(const std::string& socket_path) noexcept
{
    const UniqueFd folder(::open(socket_path.substr(0, socket_path.rfind('/')).c_str(),
                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    try {
        // Waits for one who is at it just now, for one socket's time; longer only for one that was
        // stopped meanwhile. The launcher removes what is in its way, too.
        if (folder &&
            flock_until(folder.get(), LOCK_SH, Deadline::after(std::chrono::seconds(2)))) {
            ::unlink(socket_path.c_str());
        }
    } catch (const std::system_error&) {
        return; // the launcher says what is wrong with the folder
    }
}

} // namespace

bool nobody_listens(const std::string& socket_path) noexcept
{
    return refused(try_connect(socket_path).error);
}

std::string place_of_socket(const std::string& runtime_folder, const std::string& id)
{
    renew_runtime_folder(runtime_folder);
    auto path = socket_in(runtime_folder, id);
    forget_socket(path);
    return path;
}

Listener listener_at(const std::string& socket_path) noexcept
{
    const auto attempt = try_connect(socket_path);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!attempt.socket ||
        ::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return {};
    }
    std::optional<std::uint64_t> started;
    try {
        started = start_time(peer.pid);
    } catch (const std::exception&) {
        return {};
    }
    // With its end the connection ends too. While that stands the number cannot have gone to
    // another process, who would be killed in its place.
    pollfd ended{attempt.socket.get(), POLLRDHUP, 0};
    if (!started || ::poll(&ended, 1, 0) != 0) {
        return {};
    }
    return {peer.pid, *started};
}

UniqueFd listen_beside_stale(const std::string& path)
{
    const auto slash = path.rfind('/');
    const UniqueFd folder(
        ::open(path.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // It goes with the descriptor.
    if (!folder || !flock_until(folder.get(), LOCK_SH, Deadline::after(std::chrono::seconds(5)))) {
        throw std::system_error(folder ? EBUSY : errno, std::generic_category(),
                                "lock the directory of " + path);
    }
    return listen_unix("/proc/self/fd/" + std::to_string(folder.get()) + path.substr(slash));
}

void remove_stale_sockets(const std::string& runtime_folder, const CgroupLayout& cgroups,
                          const Deadline& deadline)
{
    const UniqueFd folder(
        ::open(runtime_folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) {
        return;
    }
    for (const auto& name : directory_names(folder.get())) {
        if (deadline.expired() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
            return; // somebody makes a machine, or does the same: the next server goes on
        }
        if (name.size() > suffix.size() && name.ends_with(suffix)) {
            remove_if_stale(folder.get(), name, cgroups);
        } else if (name.starts_with(probe_prefix)) {
            ::unlinkat(folder.get(), name.c_str(), 0); // who is at it just now knows already
        }
        ::flock(folder.get(), LOCK_UN);
    }
}

} // namespace berth::local
