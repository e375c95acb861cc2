#include "sandbox/local/launcher/launch.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/cgroup_v1.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/handover.hpp"
#include "sandbox/local/launcher/cgroup.hpp"
#include "sandbox/local/launcher/child.hpp"
#include "sandbox/local/launcher/child_process.hpp"
#include "sandbox/local/launcher/dev.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/landlock.hpp"
#include "sandbox/local/launcher/namespace_owner.hpp"
#include "sandbox/local/launcher/namespaces.hpp"
#include "sandbox/local/launcher/socket.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
#include "sandbox/local/launcher/trees.hpp"
#include "sandbox/local/launcher/wires.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/processors.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

// A guest that does not answer by then never will; on a loaded machine the launch takes 0.1 s.
constexpr std::chrono::seconds patience{20};

/// A child's report, mostly an empty one: then no memory is touched for it. Its text may name two
/// paths, each as long as the kernel takes them.
std::string read_all(int fd)
{
    constexpr std::size_t most = 65536;
    std::string text;
    std::array<char, 512> piece{};
    std::size_t size = piece.size();
    while (size == piece.size() && text.size() < most) {
        size = read_full(fd, piece.data(), piece.size());
        text.append(piece.data(), size);
    }
    return text;
}

/// Waits for the guest's byte. Throws the child's own failure, or says that the guest or the server
/// is gone.
void wait_until_ready(int ready, int report, const ChildProcess& child)
{
    const Deadline deadline = Deadline::after(patience);
    for (;;) {
        std::array<pollfd, 2> waiting{{{ready, POLLIN, 0}, {launcher_control_fd, POLLIN, 0}}};
        const int count = ::poll(waiting.data(), waiting.size(), deadline.poll_timeout());
        if (count == 0) {
            throw Failure("guest", ETIMEDOUT, "wait for the guest to answer");
        }
        if (count < 0) {
            require(errno == EINTR, "guest", "poll");
            continue;
        }
        if (waiting.at(1).revents != 0) {
            throw Failure("server", EPIPE, "the server is gone");
        }
        char byte = 0;
        if (read_full(ready, &byte, 1) == 1) {
            return;
        }
        const auto failed = protocol::decode<ChildReport>(read_all(report));
        if (!failed.step.empty()) {
            throw Failure(failed.step, failed.error, failed.text);
        }
        throw Failure(child.was_killed() ? step_killed : "guest", 0,
                      "the guest ended before it was ready");
    }
}

/// What the child said before its exec; with a report of a failure it never got there.
void read_notes(int report, LaunchResult& result)
{
    if (wait_readable(report, Deadline::after({}))) {
        const auto note = protocol::decode<ChildReport>(read_all(report));
        result.nested_closed_by_filter = note.nested_closed_by_filter;
    }
}

clone_args clone_arguments(const LaunchSpec& spec, const Cgroups& cgroups)
{
    clone_args args{};
    args.flags = surrounding_namespaces(spec.surroundings);
    args.exit_signal = SIGCHLD;
    add_own_namespaces(args, spec.cgroup, cgroups.guest_fd());
    return args;
}

/// In new namespaces. `root`: which was prepared; none: it is to be made.
pid_t start_child(Launch& launch, const Cgroups& cgroups, Wires& wires, UniqueFd root)
{
    auto& spec = launch.spec;
    ChildSetup setup{.spec = spec, .filter = launch.filter, .process_name = launch.process_name};
    if (spec.privileged) {
        setup.prepared_root = std::move(root);
        if (!setup.prepared_root) {
            setup.base = protocol::decode<RootParts>(spec.base);
            setup.base_trees = clone_trees(setup.base.binds, spec);
        }
        setup.trees = clone_trees(spec.binds, spec);
        if (!spec.probe && !spec.become_guest) {
            setup.program = open_program(spec.guest_program);
        }
    }
    setup.handover_fd = wires.handover.second.get();
    setup.report_fd = wires.report.write.get();
    setup.ready_fd = wires.ready.write.get();
    setup.lifetime_fd = launch.lifetime.get();
    setup.proxy_fd = launch.proxy.get();
    setup.processors = own_processors();
    const auto arguments = clone_arguments(spec, cgroups);
    const pid_t pid =
        spec.privileged ? clone_with_own_account(arguments) : clone_with_thread_number(arguments);
    require(pid >= 0, "namespaces", "make the namespaces (clone3)");
    if (pid == 0) {
        wires.keep_childs_ends();
        ::close(launcher_control_fd);
        launch.lock.reset(); // else the session would be locked for as long as the machine lives
        launch.ahead.root.reset(); // else it would lie in the guest's heap
        run_child(std::move(setup));
    }
    wires.keep_launchers_ends();
    return pid;
}

/// The guest-to-be as its launcher knows it, and what it was born into.
struct Started {
    std::unique_ptr<CgroupsAhead> ahead; ///< where it was made ahead; else:
    std::unique_ptr<Cgroups> cgroups;
    Wires wires;
    ChildProcess child;
    std::uint64_t start_time = 0; ///< of the child
    std::string processors;       ///< which it may have again

    Cgroups& v2() { return ahead ? ahead->v2() : *cgroups; }
};

/// `root`: which the namespaces have, to look at.
Started start_in(NamespaceKeeper& namespaces, const Launch& launch, const UniqueFd& root)
{
    namespaces.maps().write(launch.spec);
    give_dev(root.get(), launch.spec);
    (void)::kill(namespaces.guest(), SIGCONT); // whoever has stopped it while it had nothing to do
    namespaces.tell({.spec = launch.file.get(),
                     .lifetime = launch.lifetime.get(),
                     .proxy = launch.proxy.get()});
    auto cgroups = namespaces.take_cgroups();
    cgroups->limit(launch.spec.cgroup);
    return {.ahead = std::move(cgroups),
            .cgroups = nullptr,
            .wires = namespaces.take_wires(),
            .child = namespaces.take_guest(),
            .start_time = namespaces.guest_start_time(),
            .processors = {}};
}

Started start_anew(Launch& launch, UniqueFd root)
{
    give_processors_back(launch.spec.processors);
    auto cgroups = std::make_unique<Cgroups>(launch.spec.cgroup);
    Wires wires;
    ChildProcess child(start_child(launch, *cgroups, wires, std::move(root)));
    Started started{.ahead = nullptr,
                    .cgroups = std::move(cgroups),
                    .wires = std::move(wires),
                    .child = std::move(child),
                    .start_time = 0,
                    .processors = {}};
    started.start_time = start_time(started.child.pid()).value_or(0);
    started.processors = keep_off_this_processor(started.child.pid());
    IdentityMaps(started.child.pid()).write(launch.spec);
    (void)send_descriptors(started.wires.handover.first.get(), "m", {});
    return started;
}

Started start(Launch& launch)
{
    auto& [prepared, namespaces, socket] = launch.ahead;
    UniqueFd root = prepared ? prepared->take_for(launch.spec) : UniqueFd();
    if (namespaces && root && namespaces->fits(launch.spec)) {
        try {
            return start_in(*namespaces, launch, root);
        } catch (const std::exception&) {
            // Someone has killed or stopped it, or the host lets only this process do what it is
            // to do.
            root.reset();
        }
    }
    if (namespaces) {
        root.reset(); // it is theirs
        namespaces.reset();
    }
    socket.reset(); // of the guest that was to be in them, and not to be inherited
    return start_anew(launch, std::move(root));
}

/// What the server has made meanwhile.
Handover wait_for_server()
{
    auto handover = receive_handover(launcher_control_fd);
    if (!handover) {
        throw Failure("server", EPIPE, "the server is gone");
    }
    return std::move(*handover);
}

/// What is mounted for this machine alone and the child has not had from the start, by its binds.
/// `early`: of those that are not late.
std::vector<Tree> session_trees(const LaunchSpec& spec, std::vector<Tree> early)
{
    auto trees = clone_trees(spec.binds, spec, /*late=*/true);
    for (std::size_t i = 0; i < early.size(); ++i) {
        if (early[i].mount) {
            trees.at(i) = std::move(early[i]);
        }
    }
    return trees;
}

std::vector<UniqueFd> mounts_of(std::vector<Tree> trees)
{
    std::vector<UniqueFd> mounts;
    for (auto& tree : trees) {
        if (tree.mount) {
            mounts.push_back(std::move(tree.mount));
        }
    }
    return mounts;
}

Handover command_cgroups(const LaunchSpec& spec, Started& started)
{
    if (started.ahead) {
        return started.ahead->take();
    }
    Handover made = started.v2().make_for_commands();
    add_to(made, make_v1_cgroups(spec.cgroup, spec.named_ahead ? V1Share::all : V1Share::launcher));
    return made;
}

/// `ahead`: under another name, or none.
std::unique_ptr<ListenSocket> listen_socket(const LaunchSpec& spec,
                                            std::unique_ptr<ListenSocket> ahead)
{
    if (spec.probe) {
        return nullptr;
    }
    if (ahead && ahead->rename(spec.socket_path)) {
        return ahead;
    }
    return std::make_unique<ListenSocket>(spec.socket_path);
}

void tell_that_it_has_mounted()
{
    // A server that is gone is found out soon enough.
    (void)::send(launcher_control_fd, &message_mounted, 1, MSG_NOSIGNAL);
}

/// What the child does not need until its root is built.
void hand_over(const LaunchSpec& spec, UniqueFd listen, Started& started,
               const std::optional<NamespaceKeeper>& namespaces)
{
    Handover cgroups = command_cgroups(spec, started);
    UniqueFd run = started.v2().give_run(spec);
    std::vector<Tree> early;
    if (started.ahead) {
        early = clone_trees(spec.binds, spec);
    } else {
        tell_that_it_has_mounted(); // the child mounts, for longer than the server should wait
    }
    Handover handover = wait_for_server();
    add_to(handover, std::move(cgroups));
    handover.listen = std::move(listen);
    handover.run_cgroup = std::move(run);
    if (spec.privileged) {
        auto trees = session_trees(spec, std::move(early));
        if (started.ahead) {
            namespaces->mount(trees, spec);
            // Before the child is told, which may take this processor.
            tell_that_it_has_mounted();
        }
        handover.mounts = mounts_of(std::move(trees));
    }
    auto& child = started.wires.handover.first;
    if (!send_handover(child.get(), handover)) {
        // It is gone and has said why, or cannot be reached: then it does not wait any longer.
        child.reset();
    }
    if (started.ahead) {
        // Not before: who reads from a socket is put on the processor of the writer, where the
        // server goes on. Now it waits, and the guest has the other one.
        give_processors_back(spec.processors);
    }
}

void make_or_throw(Launch& launch)
{
    auto& spec = launch.spec;
    // Else the guest, which has other threads, would have the launcher's number.
    spec.become_guest = spec.become_guest && thread_number() != nullptr;
    Started started = start(launch);
    const auto socket = listen_socket(spec, std::move(launch.ahead.socket));
    auto& [ahead, cgroups, wires, child, began, processors] = started;
    LaunchResult result;
    result.landlock =
        landlock_version(); // the child's is the same, and fails where it cannot be had
    result.pid = child.pid();
    result.start_time = began;
    hand_over(spec, socket ? socket->take() : UniqueFd(), started, launch.ahead.namespaces);
    // If it has not had another processor by now, this one has nothing more to do.
    give_processors_back(processors, child.pid());
    wait_until_ready(wires.ready.read.get(), wires.report.read.get(), child);

    read_notes(wires.report.read.get(), result);
    if (result.nested_closed_by_filter) {
        started.v2().keep_commands_with_guest();
    }
    result.missing = started.v2().missing();
    result.ok = true;
    // Before anything is let go of: if the server is gone by now, nobody knows of the machine.
    answer(result);
    launch.lock.reset(); // from here on nothing is removed
    if (!spec.probe) {
        socket->keep();
        ahead ? ahead->keep() : cgroups->keep();
        child.release();
    }
}

} // namespace

void answer(const LaunchResult& result)
{
    write_full(launcher_control_fd, protocol::encode(result));
    // The server shall not wait until this process has ended.
    ::shutdown(launcher_control_fd, SHUT_WR);
    ::sched_yield(); // nor until it has cleared up: the kernel may have put the two on one
                     // processor
}

bool make_machine(Launch& launch)
{
    try {
        make_or_throw(launch);
        return true;
    } catch (const std::exception& error) {
        answer(to_result(error, "launch"));
        return false;
    }
}

} // namespace berth::local
