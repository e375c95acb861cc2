#include "sandbox/local/launcher/namespace_keeper.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/release_memory.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/child.hpp"
#include "sandbox/local/launcher/dev.hpp"
#include "sandbox/local/launcher/namespace_owner.hpp"
#include "sandbox/local/launcher/namespaces.hpp"
#include "sandbox/local/launcher/proc.hpp"
#include "sandbox/local/launcher/proc_masks.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/protocol/wire.hpp"

#include <climits>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "namespaces";
// Of what takes a millisecond, where somebody may have stopped it: the launch does without then.
constexpr std::chrono::seconds patience{1};

DoneAhead make(UniqueFd mount, const Ahead& expected)
{
    ProcNamespace proc;
    Root root(std::move(mount));
    make_dev(root, expected.shm_size);
    surround(expected.surroundings);
    auto covers = clone_proc_covers(root, proc.proc());
    proc.split_off(root);
    if (!ProcNamespace::can_make_proc()) {
        throw Failure("proc", EPERM, "mount a proc");
    }
    return {.root = std::move(root), .proc = std::move(proc), .covers = std::move(covers)};
}

/// Who is the last to leave the namespace with the host's proc waits until the kernel has taken it
/// apart. That is not to be the guest-to-be.
[[noreturn]] void wait_for_the_end()
{
    (void)::close_range(3, UINT_MAX,
                        0); // held open here, the child's ends could not be seen to close
    for (;;) {
        ::pause();
    }
}

/// What the keeper has of the launcher that it was forked from.
struct Inherited {
    PreparedRoot& prepared;
    std::unique_ptr<CgroupsAhead>& cgroups;
    Ahead& expected;
    FilterProgram& filter;
    const ProcessName& process_name;

    /// In the guest-to-be: what is in the heap of these.
    void forget() const
    {
        cgroups->keep(); // they are its own, and not this copy's to remove
        cgroups.reset();
        release_memory(expected);
    }
};

/// In the keeper, and then in the guest-to-be.
[[noreturn]] void give_birth(DoneAhead ahead, const Inherited& from, Wires& wires)
{
    const int socket = wires.handover.second.get();
    clone_args args{};
    args.flags = CLONE_PARENT;
    add_own_namespaces(args, from.cgroups->spec(), from.cgroups->v2().guest_fd());
    const pid_t pid = clone_with_thread_number(args);
    if (pid != 0) {
        write_number(socket, pid > 0 ? pid : -errno);
        wait_for_the_end();
    }
    LaunchSpec spec; // until it is told
    ChildSetup setup{.spec = spec, .filter = from.filter, .process_name = from.process_name};
    setup.ahead = &ahead;
    setup.guest_tasks = &from.cgroups->guest_tasks();
    setup.forget_launchers = [&from] { from.forget(); };
    setup.handover_fd = socket;
    setup.report_fd = wires.report.write.get();
    setup.ready_fd = wires.ready.write.get();
    run_child(std::move(setup));
}

[[noreturn]] void keep(const Inherited& from, Wires& wires) noexcept
{
    try {
        // Not only by the end of the socket, which it does not have in the end.
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Held open here, the launcher's ends could not be seen to close.
        wires.keep_childs_ends();
        ::close(launcher_control_fd);
        ::close(launcher_wake_fd);
        from.process_name.show("berth-ahead");
        DoneAhead ahead = make(from.prepared.take(), from.expected);
        from.prepared.forget();
        give_birth(std::move(ahead), from, wires);
    } catch (const std::exception&) {
        ::_exit(1); // the launcher sees the end of the socket
    }
}

} // namespace

NamespaceKeeper::NamespaceKeeper(std::unique_ptr<CgroupsAhead> cgroups, ChildProcess process,
                                 Wires wires, const Ahead& expected)
    : cgroups_(std::move(cgroups)), process_(std::move(process)), maps_(process_.pid()),
      wires_(std::move(wires)), surroundings_(expected.surroundings), shm_size_(expected.shm_size)
{
}

/// Once it is there, and has made what it can.
bool NamespaceKeeper::guest_waits()
{
    const Deadline deadline = Deadline::after(patience);
    const int socket = wires_.handover.first.get();
    std::int32_t number = 0;
    if (!wait_readable(socket, deadline) ||
        read_full(socket, &number, sizeof number) != sizeof number || number <= 0) {
        return false;
    }
    guest_ = ChildProcess(number);
    guest_start_time_ = start_time(number).value_or(0);
    char byte = 0;
    const int ready = wires_.ready.read.get();
    if (!wait_readable(ready, deadline) || read_full(ready, &byte, 1) != 1) {
        return false;
    }
    mounts_.emplace(number);
    // By way of trial: where a host forbids it, nothing is lost yet but what was made ahead.
    mounts_->visit([](const Root&) {});
    return true;
}

std::optional<NamespaceKeeper> NamespaceKeeper::start(PreparedRoot& root, Ahead& expected,
                                                      FilterProgram& filter,
                                                      const ProcessName& process_name) noexcept
{
    try {
        auto cgroups = std::make_unique<CgroupsAhead>(expected.cgroup);
        Wires wires;
        clone_args args{};
        args.flags = surrounding_namespaces(expected.surroundings);
        args.exit_signal = SIGCHLD;
        const pid_t pid = clone_with_own_account(args);
        if (pid < 0) {
            return std::nullopt;
        }
        if (pid == 0) {
            keep({.prepared = root,
                  .cgroups = cgroups,
                  .expected = expected,
                  .filter = filter,
                  .process_name = process_name},
                 wires);
        }
        wires.keep_launchers_ends();
        NamespaceKeeper keeper(std::move(cgroups), ChildProcess(pid), std::move(wires), expected);
        if (keeper.guest_waits()) {
            return keeper;
        }
    } catch (const std::exception&) {
        return std::nullopt;
    }
    return std::nullopt;
}

bool NamespaceKeeper::fits(const LaunchSpec& spec) const
{
    pollfd socket{wires_.handover.first.get(), POLLIN, 0}; // at its end it is readable
    constexpr std::size_t most = max_descriptors - 50; // binds come in one message, beside others
    return has_surroundings(spec, surroundings_) && spec.binds.size() <= most &&
           cgroups_->fit(spec.cgroup) && ::poll(&socket, 1, 0) == 0;
}

void NamespaceKeeper::mount(const std::vector<Tree>& trees, const LaunchSpec& spec) const
{
    if (spec.shm_size != shm_size_) {
        mounts_->visit([&](const Root& root) { resize_shm(root, spec.shm_size); });
    }
    mounts_->attach(trees, spec);
}

void NamespaceKeeper::tell(const Told& what) const
{
    if (!tell_guest(wires_.handover.first.get(), what)) {
        throw Failure(step, ESRCH, "use what was made ahead");
    }
}

} // namespace berth::local
