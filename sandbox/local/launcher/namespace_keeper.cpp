#include "sandbox/local/launcher/namespace_keeper.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/child.hpp"
#include "sandbox/local/launcher/dev.hpp"
#include "sandbox/local/launcher/namespaces.hpp"
#include "sandbox/local/launcher/proc.hpp"
#include "sandbox/local/launcher/proc_masks.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
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

// A message to the keeper has one byte for each descriptor that it comes with.
constexpr char kind_spec = 's';
constexpr char kind_cgroup = 'c';
constexpr char kind_lifetime = 'l';
constexpr char kind_proxy = 'p';
constexpr std::size_t all_kinds = 4;
constexpr const char* there = "n";

/// Of the guest-to-be.
struct Born {
    UniqueFd spec;
    UniqueFd cgroup;
    UniqueFd lifetime;
    UniqueFd proxy;
};

/// Nothing when the launcher has ended, or needs no child.
std::optional<Born> wait_for_birth(int socket)
{
    auto message = receive_descriptors(socket, all_kinds);
    if (message.bytes.empty() || message.bytes.size() != message.descriptors.size()) {
        return std::nullopt;
    }
    Born born;
    for (std::size_t i = 0; i < message.bytes.size(); ++i) {
        const char kind = message.bytes[i];
        auto& part = kind == kind_spec       ? born.spec
                     : kind == kind_cgroup   ? born.cgroup
                     : kind == kind_lifetime ? born.lifetime
                                             : born.proxy;
        part = std::move(message.descriptors[i]);
    }
    return born;
}

DoneAhead make(UniqueFd mount, const Surroundings& surroundings)
{
    ProcNamespace proc;
    Root root(std::move(mount));
    constexpr std::uint64_t least = 4096; // until it is known how much
    make_dev(root, least);
    surround(surroundings);
    auto covers = clone_proc_covers(root, proc.proc());
    proc.split_off(root);
    if (!ProcNamespace::can_make_proc()) {
        throw Failure("proc", EPERM, "mount a proc");
    }
    return {.root = std::move(root), .proc = std::move(proc), .covers = std::move(covers)};
}

/// Who is the last to leave the namespace with the host's proc waits until the kernel has taken it
/// apart. That is not to be the child.
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
    FilterProgram& filter;
    const ProcessName& process_name;
};

void give_birth_here(Born born, DoneAhead ahead, const Inherited& from, Wires& wires)
{
    auto spec = protocol::decode<LaunchSpec>(content_of(born.spec));
    born.spec.reset();
    const int socket = wires.handover.second.get();
    clone_args args{};
    args.flags = CLONE_PARENT;
    add_own_namespaces(args, spec, born.cgroup.get());
    const pid_t pid = clone_with_thread_number(args);
    if (pid != 0) {
        write_number(socket, pid > 0 ? pid : -errno);
        wait_for_the_end();
    }
    ChildSetup setup{.spec = spec, .filter = from.filter, .process_name = from.process_name};
    setup.ahead = &ahead;
    setup.handover_fd = socket;
    setup.report_fd = wires.report.write.get();
    setup.ready_fd = wires.ready.write.get();
    setup.lifetime_fd = born.lifetime.get();
    setup.proxy_fd = born.proxy.get();
    setup.processors = spec.processors;
    run_child(std::move(setup));
}

[[noreturn]] void keep(const Surroundings& surroundings, const Inherited& from,
                       Wires& wires) noexcept
{
    try {
        // Not only by the end of the socket, which it does not have in the end.
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Held open here, the launcher's ends could not be seen to close.
        wires.keep_childs_ends();
        ::close(launcher_control_fd);
        ::close(launcher_wake_fd);
        from.process_name.show("berth-ahead");
        DoneAhead ahead = make(from.prepared.take(), surroundings);
        from.prepared.forget();
        const int socket = wires.handover.second.get();
        (void)send_descriptors(socket, there, {});
        if (auto born = wait_for_birth(socket)) {
            give_birth_here(std::move(*born), std::move(ahead), from, wires);
        }
    } catch (const std::exception&) {
        ::_exit(1); // the launcher sees the end of the socket
    }
    ::_exit(0);
}

bool is_there(const Wires& wires)
{
    const int socket = wires.handover.first.get();
    return wait_readable(socket, Deadline::after(patience)) &&
           receive_descriptors(socket, 1).bytes == there;
}

} // namespace

NamespaceKeeper::NamespaceKeeper(ChildProcess process, Wires wires, Surroundings surroundings)
    : process_(std::move(process)), maps_(process_.pid()), wires_(std::move(wires)),
      surroundings_(std::move(surroundings))
{
}

std::optional<NamespaceKeeper> NamespaceKeeper::start(PreparedRoot& root,
                                                      const Surroundings& surroundings,
                                                      FilterProgram& filter,
                                                      const ProcessName& process_name) noexcept
{
    try {
        Wires wires;
        clone_args args{};
        args.flags = surrounding_namespaces(surroundings);
        args.exit_signal = SIGCHLD;
        const pid_t pid = clone_with_thread_number(args);
        if (pid < 0) {
            return std::nullopt;
        }
        if (pid == 0) {
            keep(surroundings, {.prepared = root, .filter = filter, .process_name = process_name},
                 wires);
        }
        wires.keep_launchers_ends();
        NamespaceKeeper keeper(ChildProcess(pid), std::move(wires), surroundings);
        if (is_there(keeper.wires_)) {
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
    return !spec.probe && spec.binds.size() <= most && spec.privileged && spec.become_guest &&
           spec.surroundings == surroundings_ && ::poll(&socket, 1, 0) == 0;
}

pid_t NamespaceKeeper::give_birth(const Wires& wires, const Birth& birth)
{
    std::string kinds;
    std::vector<int> descriptors;
    const auto add = [&](char kind, int fd) {
        if (fd >= 0) {
            kinds += kind;
            descriptors.push_back(fd);
        }
    };
    add(kind_spec, birth.spec);
    add(kind_cgroup, birth.cgroup);
    add(kind_lifetime, birth.lifetime);
    add(kind_proxy, birth.proxy);
    const int socket = wires.handover.first.get();
    std::int32_t number = 0;
    // Whoever is born nevertheless sees the end of the socket, and ends.
    if (!send_descriptors(socket, kinds, descriptors) ||
        !wait_readable(socket, Deadline::after(patience)) ||
        read_full(socket, &number, sizeof number) != sizeof number) {
        throw Failure(step, ESRCH, "use the namespaces that were made ahead");
    }
    if (number < 0) {
        throw Failure(step, -number, "make the namespace of pids (clone3)");
    }
    return number;
}

} // namespace berth::local
