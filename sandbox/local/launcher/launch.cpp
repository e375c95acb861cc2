#include "sandbox/local/launcher/launch.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/launcher/cgroup.hpp"
#include "sandbox/local/launcher/child.hpp"
#include "sandbox/local/launcher/failure.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/socket.hpp"
#include "sandbox/local/launcher/trees.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local {
namespace {

// A guest that does not answer by then never will; on a loaded machine the launch takes 0.1 s.
constexpr std::chrono::seconds patience{20};

/// The guest-to-be. Killed by the destructor unless released.
class Child {
  public:
    explicit Child(pid_t pid) noexcept : pid_(pid) {}

    ~Child()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    void release() noexcept { pid_ = -1; }

  private:
    pid_t pid_;
};

std::uint64_t namespaces(const LaunchSpec& spec)
{
    std::uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (spec.own_network) {
        flags |= CLONE_NEWNET;
    }
    if (spec.cgroup.new_namespace) {
        flags |= CLONE_NEWCGROUP;
    }
    return flags;
}

/// A child's report; its text may name two paths, each as long as the kernel takes them.
std::string read_all(int fd)
{
    std::string text(65536, '\0');
    text.resize(read_full(fd, text.data(), text.size()));
    return text;
}

/// Waits for the guest's byte. Throws the child's own failure, or says that the guest or the server
/// is gone.
void wait_until_ready(int ready, int report)
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
        throw Failure("guest", 0, "the guest ended before it was ready");
    }
}

/// What the child said before its exec; with a report of a failure it never got there.
void read_notes(int report, LaunchResult& result)
{
    pollfd waiting{report, POLLIN, 0};
    if (::poll(&waiting, 1, 0) > 0) {
        const auto note = protocol::decode<ChildReport>(read_all(report));
        result.nested_closed_by_filter = note.nested_closed_by_filter;
    }
}

void answer(const LaunchResult& result)
{
    write_full(launcher_control_fd, protocol::encode(result));
    // The server shall not wait until this process has ended.
    ::shutdown(launcher_control_fd, SHUT_WR);
}

void launch_or_throw(const LaunchSpec& spec, const FilterProgram& filter, int lifetime_fd)
{
    std::optional<ListenSocket> socket;
    if (!spec.probe) {
        socket.emplace(spec.socket_path);
    }
    Cgroups cgroups(spec);
    ChildSetup setup{.spec = spec, .cgroups = cgroups, .filter = filter};
    if (spec.privileged) {
        setup.trees = clone_trees(spec);
        if (!spec.probe) {
            setup.program = open_program(spec.guest_program);
        }
        if (!cgroups.run_path().empty()) {
            setup.run_cgroup = clone_directory(cgroups.run_path());
        }
    }
    Pipe maps = make_pipe();
    Pipe report = make_pipe();
    Pipe ready = make_pipe();
    setup.maps_written_fd = maps.read.get();
    setup.report_fd = report.write.get();
    setup.ready_fd = ready.write.get();
    setup.listen_fd = socket ? socket->fd() : -1;
    setup.lifetime_fd = lifetime_fd;

    clone_args args{};
    args.flags = namespaces(spec);
    args.exit_signal = SIGCHLD;
    if (cgroups.guest_fd() >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<unsigned>(cgroups.guest_fd());
    }
    const pid_t pid = sys::clone3(args);
    require(pid >= 0, "namespaces", "make the namespaces (clone3)");
    if (pid == 0) {
        // Held open here the launcher's end could not be seen.
        maps.write.reset();
        ready.read.reset();
        report.read.reset();
        ::close(launcher_control_fd);
        run_child(std::move(setup));
    }
    Child child(pid);
    maps.read.reset();
    report.write.reset();
    ready.write.reset();
    write_identity_maps(pid, spec);
    write_full(maps.write.get(), "m");
    wait_until_ready(ready.read.get(), report.read.get());

    LaunchResult result;
    read_notes(report.read.get(), result);
    if (result.nested_closed_by_filter) {
        cgroups.keep_commands_with_guest(spec.cgroup);
    }
    result.ok = true;
    if (spec.probe) {
        answer(result);
        return;
    }
    result.pid = pid;
    result.start_time = start_time(pid).value_or(0);
    // Before anything is let go of: if the server is gone by now, nobody knows of the machine.
    answer(result);
    socket->keep();
    cgroups.keep();
    child.release();
}

} // namespace

bool launch(const LaunchSpec& spec, const FilterProgram& filter, int lifetime_fd)
{
    LaunchResult result;
    try {
        launch_or_throw(spec, filter, lifetime_fd);
        return true;
    } catch (const Failure& failure) {
        result.step = failure.step();
        result.error = failure.error();
        result.text = failure.what();
    } catch (const std::exception& error) {
        result.step = "launch";
        result.text = error.what();
    }
    answer(result);
    return false;
}

} // namespace berth::local
