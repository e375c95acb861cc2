#include "sandbox/local/launcher/child.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/handover.hpp"
#include "sandbox/local/launcher/caps.hpp"
#include "sandbox/local/launcher/cgroup.hpp"
#include "sandbox/local/launcher/dev.hpp"
#include "sandbox/local/launcher/exec.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/kernel_shares.hpp"
#include "sandbox/local/launcher/landlock.hpp"
#include "sandbox/local/launcher/nested_namespaces.hpp"
#include "sandbox/local/launcher/net.hpp"
#include "sandbox/local/launcher/proc.hpp"
#include "sandbox/local/launcher/proc_masks.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/socket.hpp"
#include "sandbox/local/processors.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

void wait_for_maps(int fd)
{
    char byte = 0;
    // End of file instead of the byte: the launcher is gone, and nobody would ever clean up.
    require(read_full(fd, &byte, 1) == 1, "identity", "wait for the identity maps");
}

Handover wait_for_handover(int fd)
{
    auto handover = receive_handover(fd);
    if (!handover) {
        throw Failure("launcher", EPIPE, "the launcher is gone");
    }
    return std::move(*handover);
}

/// As an ordinary user nobody outside may clone mounts; here the user's own namespace may.
void take_early_trees(ChildSetup& setup)
{
    if (setup.spec.privileged) {
        return;
    }
    setup.base = protocol::decode<RootParts>(setup.spec.base);
    setup.base_trees = clone_trees(setup.base.binds, setup.spec);
    setup.trees = clone_trees(setup.spec.binds, setup.spec);
    if (!setup.spec.probe && !setup.spec.become_guest) {
        setup.program = open_program(setup.spec.guest_program);
    }
}

void take_late_trees(ChildSetup& setup, Handover& handover)
{
    const auto& binds = setup.spec.binds;
    if (!setup.spec.privileged) {
        auto late = clone_trees(binds, setup.spec, /*late=*/true);
        for (std::size_t i = 0; i < binds.size(); ++i) {
            if (binds[i].late) {
                setup.trees.at(i) = std::move(late.at(i));
            }
        }
        if (const auto run = run_cgroup_path(setup.spec.cgroup); !run.empty()) {
            handover.run_cgroup = clone_directory(run);
        }
        return;
    }
    auto next = handover.mounts.begin();
    setup.trees.resize(binds.size());
    for (std::size_t i = 0; i < binds.size(); ++i) {
        if (binds[i].late || setup.ahead != nullptr) {
            require(next != handover.mounts.end(), "mounts", "take over the session's folders");
            setup.trees[i] = to_tree(std::move(*next++));
        }
    }
}

void report(int fd, const ChildReport& what) noexcept
{
    try {
        write_full(fd, protocol::encode(what));
    } catch (const std::exception&) {
        // Nobody listens: the launcher is gone, and this process ends now.
        return;
    }
}

/// All that needs nothing of the session, while the launcher makes that.
bool prepare(const Root& root, ChildSetup& setup, bool prepared)
{
    const auto& spec = setup.spec;
    if (!prepared) {
        root.add(setup.base, setup.base_trees);
    }
    make_dev(root, spec.shm_size);
    mount_proc(root);
    const bool closed = close_nested_namespaces(root);
    limit_kernel_shares(root);
    mask_proc(root);
    surround(spec.surroundings);
    return closed;
}

void join(const std::vector<UniqueFd>& guest_tasks)
{
    for (const auto& tasks : guest_tasks) {
        // While this process is single-threaded: later each thread would have to be written.
        require(::write(tasks.get(), "0", 1) == 1, "cgroup", "join the guest's cgroup");
    }
}

void filter_itself(ChildSetup& setup, bool closed)
{
    install_filter(closed ? setup.filter : compile_filter(/*forbid_namespaces=*/true));
}

/// What of that needs a namespace of pids; then it waits until it is known whose this is.
bool complete(ChildSetup& setup)
{
    auto& ahead = *setup.ahead;
    setup.process_name.show("berth-next");
    ahead.proc.leave(ahead.root);
    const bool closed = close_nested_namespaces(ahead.root);
    limit_kernel_shares(ahead.root);
    mask_proc(ahead.root, std::move(ahead.covers));
    join(*setup.guest_tasks);
    drop_bounding_set();
    // Now, while nobody waits: the kernel takes 0.1 ms and more to make it its own.
    filter_itself(setup, closed);
    write_full(setup.ready_fd, "R");
    auto heard = hear(setup.handover_fd);
    if (!heard) {
        ::_exit(0); // the launcher has ended, or needs no guest
    }
    setup.heard = std::move(*heard);
    setup.spec = protocol::decode<LaunchSpec>(content_of(setup.heard.spec));
    setup.heard.spec.reset();
    setup.lifetime_fd = setup.heard.lifetime.get();
    setup.proxy_fd = setup.heard.proxy.get();
    setup.processors = setup.spec.processors;
    return closed;
}

/// For good.
void restrict_itself(ChildSetup& setup, const Handover& handover, bool closed)
{
    drop_privileges();
    restrict_files({.trees = setup.trees,
                    .binds = setup.spec.binds,
                    .cgroups = handover.run_cgroup.get(),
                    .program = setup.program.get(),
                    .reopened = {handover.oom_events.get(), handover.pids_events.get(),
                                 handover.cpu_stat.get()}});
    if (setup.ahead == nullptr) {
        filter_itself(setup, closed);
    }
}

Handover set_up(ChildSetup& setup)
{
    // Process group and session 1: nothing of the host's terminal, and the filter knows the number.
    require(::setsid() == 1, "identity", "setsid");
    const bool is_ahead = setup.ahead != nullptr;
    bool closed = false;
    if (is_ahead) {
        closed = complete(setup);
    } else {
        wait_for_maps(setup.handover_fd);
    }
    give_processors_back(setup.processors);
    assume_identity(setup.spec);
    ::umask(022);
    take_early_trees(setup);
    std::optional<Root> own;
    const bool prepared = setup.prepared_root.valid();
    if (!is_ahead) {
        closed = prepare(own.emplace(std::move(setup.prepared_root)), setup, prepared);
        drop_bounding_set();
    }
    if (setup.spec.filtered_network) {
        hand_out_sockets(setup.proxy_fd);
    }

    Handover handover = wait_for_handover(setup.handover_fd);
    take_late_trees(setup, handover);
    if (own) {
        own->attach_all(setup.trees, setup.spec.binds);
    }
    join(handover.guest_tasks);
    if (handover.listen) {
        // Again, now as pid 1: it is the one whom SO_PEERCRED names to a connecting server, by
        // which a machine is found that no record knows yet.
        require(::listen(handover.listen.get(), listen_backlog) == 0, "socket", "listen");
    }
    if (own) {
        own->enter();
    }
    restrict_itself(setup, handover, closed);
    if (!closed) {
        ChildReport note;
        note.nested_closed_by_filter = true;
        report(setup.report_fd, note);
        handover.run_cgroup.reset();
    }
    return handover;
}

} // namespace

void surround(const Surroundings& surroundings)
{
    const auto& name = surroundings.host_name;
    require(::sethostname(name.data(), name.size()) == 0, "uts", "set the host name");
    if (surroundings.own_network) {
        bring_up_loopback();
    }
}

void run_child(ChildSetup setup) noexcept
{
    ChildReport failed;
    try {
        Handover handover = set_up(setup);
        if (setup.spec.probe) {
            write_full(setup.ready_fd, "R");
            ::_exit(0);
        }
        become_guest(setup, handover);
    } catch (const std::exception& error) {
        const auto result = to_result(error, "launch");
        failed = {result.step, result.error, result.text, false};
    }
    report(setup.report_fd, failed);
    ::_exit(1);
}

} // namespace berth::local
