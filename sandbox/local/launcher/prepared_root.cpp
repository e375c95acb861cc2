#include "sandbox/local/launcher/prepared_root.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/trees.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <set>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "mounts";

/// In a process with a mount namespace of its own: the tree has to hang somewhere while it is put
/// together, and the host shall not see it. Sends the mount over the socket.
void build(const RootParts& parts, int socket)
{
    const auto trees = clone_trees(parts.binds, LaunchSpec());
    const Root root;
    root.add(parts, trees);
    const UniqueFd whole(::open_tree(
        root.fd(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH));
    require(whole.valid(), step, "take the prepared root off");
    (void)send_descriptors(socket, "m", {whole.get()});
}

/// What the tmpfs itself has: folders, files and links, without a leading slash; "" is the root.
std::vector<std::string> own_of(const RootParts& parts)
{
    std::set<std::string> folders{""};
    const auto add = [&](std::string path, bool itself) {
        path.erase(0, path.find_first_not_of('/'));
        for (auto end = itself ? path.size() : path.rfind('/'); end != std::string::npos;
             end = end == 0 ? std::string::npos : path.rfind('/', end - 1)) {
            folders.insert(path.substr(0, end));
        }
    };
    std::for_each(parts.directories.begin(), parts.directories.end(),
                  [&](const auto& directory) { add(directory, true); });
    std::for_each(parts.binds.begin(), parts.binds.end(),
                  [&](const auto& bind) { add(bind.target, false); });
    std::for_each(parts.files.begin(), parts.files.end(),
                  [&](const auto& file) { add(file.path, true); });
    std::for_each(parts.links.begin(), parts.links.end(),
                  [&](const auto& link) { add(link.path, true); });
    return {folders.begin(), folders.end()};
}

/// The mount that build() makes; none when it fails.
UniqueFd build_aside(const RootParts& parts)
{
    int pair[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, step, "socketpair");
    const UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    clone_args args{};
    args.flags = CLONE_NEWNS;
    args.exit_signal = SIGCHLD;
    const pid_t pid = sys::clone3(args);
    require(pid >= 0, step, "clone3");
    if (pid == 0) {
        try {
            build(parts, theirs.get());
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    theirs.reset();
    auto message = receive_descriptors(ours.get(), 1);
    ::waitpid(pid, nullptr, 0);
    return message.descriptors.empty() ? UniqueFd() : std::move(message.descriptors.front());
}

} // namespace

std::optional<PreparedRoot> PreparedRoot::make(const RootParts& parts) noexcept
{
    try {
        PreparedRoot root;
        root.mounts_.reset(::open("/proc/self/mounts", O_RDONLY | O_CLOEXEC));
        require(root.mounts_.valid(), step, "open /proc/self/mounts");
        for (const auto& bind : parts.binds) {
            root.sources_.emplace_back(bind.source, identity_at(bind.source));
        }
        for (const auto& cover : parts.hidden) {
            // What comes in its place would lie beside the cover.
            root.sources_.emplace_back(cover.source, identity_at(cover.source));
        }
        root.mount_ = build_aside(parts);
        // What was changed meanwhile is found now or at the launch.
        if (!root.mount_ || !root.is_current()) {
            return std::nullopt;
        }
        root.encoded_ = protocol::encode(parts);
        root.own_ = own_of(parts);
        return root;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

bool PreparedRoot::is_current() const
{
    // What is mounted below a source is in the root too.
    pollfd mounts{mounts_.get(), POLLPRI, 0};
    return ::poll(&mounts, 1, 0) == 0 &&
           std::all_of(sources_.begin(), sources_.end(), [](const auto& source) {
               return source.second == identity_at(source.first);
           });
}

UniqueFd PreparedRoot::take_for(const LaunchSpec& spec)
{
    if (!mount_ || protocol::encode(spec.base) != encoded_ || !is_current()) {
        return {};
    }
    for (const auto& path : own_) {
        // Nothing but what build() has made is in there, and no link is on the way.
        require(::fchownat(mount_.get(), path.c_str(), spec.host_uid, spec.host_gid,
                           AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0,
                step, "give /" + path + " to the session");
    }
    return std::move(mount_);
}

} // namespace berth::local
