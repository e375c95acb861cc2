#include "sandbox/local/launcher/root_keeper.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "mounts";
// Of what takes one millisecond, and with a source on a file system that hangs for ever.
constexpr std::chrono::seconds build_time{10};
constexpr std::chrono::seconds clone_time{1};

/// Held open here, the zygote's and its launchers' ends could not be seen to close.
void keep_only(int one, int other)
{
    const auto low = static_cast<unsigned>(std::min(one, other));
    const auto high = static_cast<unsigned>(std::max(one, other));
    (void)::close_range(3, low - 1, 0);
    (void)::close_range(low + 1, high - 1, 0);
    (void)::close_range(high + 1, UINT_MAX, 0);
}

/// Machines share it: what one of them could write to it all others would read.
void make_read_only(const Root& root)
{
    const UniqueFd context(::fspick(root.fd(), "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
    require(context.valid(), step, "fspick the root");
    require(::fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) == 0 &&
                ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0,
            step, "make the root's file system read-only");
}

void build(const RootParts& parts)
{
    const auto trees = clone_trees(parts.binds, LaunchSpec());
    const Root root;
    root.add(parts, trees);
    make_read_only(root);
    root.enter();
}

UniqueFd clone_root()
{
    return UniqueFd(::open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
}

/// False when nobody can ask any more.
bool answer_one(int socket)
{
    const auto message = receive_descriptors(socket, 1);
    if (message.bytes.empty()) {
        return false;
    }
    if (const UniqueFd root = clone_root(); root && message.descriptors.size() == 1) {
        (void)send_descriptors(message.descriptors.front().get(), "m", {root.get()});
    }
    return true; // who is not answered sees the end of its socket
}

void serve(int socket, int mounts)
{
    for (;;) {
        std::array<pollfd, 2> waiting{{{socket, POLLIN, 0}, {mounts, POLLPRI, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0) {
            require(errno == EINTR, step, "poll");
            continue;
        }
        if (waiting[1].revents != 0 || !answer_one(socket)) {
            return;
        }
    }
}

[[noreturn]] void keep(const RootParts& parts, int socket, int mounts) noexcept
{
    try {
        (void)::prctl(PR_SET_NAME, "berth-root");
        keep_only(socket, mounts);
        build(parts);
        (void)send_descriptors(socket, "r", {});
        serve(socket, mounts);
    } catch (const std::exception&) {
        ::_exit(1); // whoever waits sees the end of the socket
    }
    ::_exit(0);
}

} // namespace

UniqueFd open_mounts()
{
    UniqueFd mounts(::open("/proc/self/mounts", O_RDONLY | O_CLOEXEC));
    require(mounts.valid(), step, "open /proc/self/mounts");
    return mounts;
}

UniqueFd start_root_keeper(const RootParts& parts)
{
    const UniqueFd mounts = open_mounts(); // here: the keeper has a table of its own
    auto [ours, theirs] = make_socket_pair();
    clone_args args{};
    args.flags = CLONE_NEWNS;
    args.exit_signal = SIGCHLD;
    const pid_t pid = clone_with_thread_number(args);
    require(pid >= 0, step, "make a mount namespace (clone3)");
    if (pid == 0) {
        keep(parts, theirs.get(), mounts.get());
    }
    theirs.reset();
    if (!wait_readable(ours.get(), Deadline::after(build_time))) {
        ::kill(pid, SIGKILL);
        throw Failure(step, ETIMEDOUT, "put a root together");
    }
    require(!receive_descriptors(ours.get(), 1).bytes.empty(), step, "put a root together");
    return std::move(ours);
}

UniqueFd clone_kept_root(const UniqueFd& keeper)
{
    auto [ours, theirs] = make_socket_pair();
    if (!send_descriptors(keeper.get(), "c", {theirs.get()})) {
        return {};
    }
    theirs.reset();
    if (!wait_readable(ours.get(), Deadline::after(clone_time))) {
        return {}; // someone has stopped it: the launch does without
    }
    auto message = receive_descriptors(ours.get(), 1);
    return message.descriptors.empty() ? UniqueFd() : std::move(message.descriptors.front());
}

} // namespace berth::local
