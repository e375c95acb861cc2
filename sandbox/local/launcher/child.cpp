#include "sandbox/local/launcher/child.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/launcher/caps.hpp"
#include "sandbox/local/launcher/dev.hpp"
#include "sandbox/local/launcher/exec.hpp"
#include "sandbox/local/launcher/failure.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/net.hpp"
#include "sandbox/local/launcher/proc.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/socket.hpp"
#include "sandbox/protocol/wire.hpp"

#include <exception>

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

/// As an ordinary user nobody outside may clone mounts; here the user's own namespace may.
void take_trees(ChildSetup& setup)
{
    if (setup.spec.privileged) {
        return;
    }
    setup.trees = clone_trees(setup.spec);
    if (!setup.spec.probe) {
        setup.program = open_program(setup.spec.guest_program);
    }
    if (!setup.cgroups.run_path().empty()) {
        setup.run_cgroup = clone_directory(setup.cgroups.run_path());
    }
}

/// Returns whether nested user namespaces could be closed by their limit.
bool build_root(const ChildSetup& setup)
{
    const auto& spec = setup.spec;
    const Root root;
    for (const auto& directory : spec.directories) {
        (void)root.make_directory(directory);
    }
    for (std::size_t i = 0; i < spec.binds.size(); ++i) {
        if (setup.trees.at(i).mount) {
            root.attach(setup.trees.at(i), spec.binds.at(i).target);
        }
    }
    for (const auto& file : spec.files) {
        root.write_file(file);
    }
    for (const auto& link : spec.links) {
        root.make_link(link);
    }
    make_dev(root, spec.shm_size);
    mount_proc(root);
    const bool closed = close_nested_namespaces(root);
    mask_proc(root);
    root.enter();
    return closed;
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

void set_up(ChildSetup& setup)
{
    const auto& spec = setup.spec;
    // Process group and session 1: nothing of the host's terminal, and the filter knows the number.
    require(::setsid() == 1, "identity", "setsid");
    wait_for_maps(setup.maps_written_fd);
    setup.cgroups.join_v1_guest();
    if (setup.listen_fd >= 0) {
        // Again, now as pid 1: it is the one whom SO_PEERCRED names to a connecting server, by
        // which a machine is found that no record knows yet.
        require(::listen(setup.listen_fd, listen_backlog) == 0, "socket", "listen");
    }
    take_trees(setup);
    assume_identity(spec);
    ::umask(022);
    const bool closed = build_root(setup);
    require(::sethostname(spec.host_name.data(), spec.host_name.size()) == 0, "uts",
            "set the host name");
    if (spec.own_network) {
        bring_up_loopback();
    }
    drop_privileges();
    install_filter(closed ? setup.filter : compile_filter(/*forbid_namespaces=*/true));
    if (!closed) {
        ChildReport note;
        note.nested_closed_by_filter = true;
        report(setup.report_fd, note);
        setup.run_cgroup.reset();
    }
}

} // namespace

void run_child(ChildSetup setup) noexcept
{
    ChildReport failed;
    try {
        set_up(setup);
        if (setup.spec.probe) {
            write_full(setup.ready_fd, "R");
            ::_exit(0);
        }
        exec_guest(setup);
    } catch (const Failure& failure) {
        failed = {failure.step(), failure.error(), failure.what(), false};
    } catch (const std::exception& error) {
        failed = {"launch", 0, error.what(), false};
    }
    report(setup.report_fd, failed);
    ::_exit(1);
}

} // namespace berth::local
