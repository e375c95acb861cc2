#include "sandbox/local/blockers.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/launcher/obstacle.hpp"

#include <cerrno>
#include <exception>
#include <optional>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

/// A number in /proc/sys; -1 where the kernel has no such setting.
long setting(const std::string& root, const std::string& name)
{
    try {
        return std::stol(read_file_limited(AT_FDCWD, root + "/proc/sys/" + name, 64));
    } catch (const std::exception&) {
        return -1;
    }
}

constexpr auto missing_program = "install berth again, or let BERTH_LIBEXEC_DIR name the folder "
                                 "that has berth-launcher and berth-guest";

bool is_refusal(int error)
{
    return error == EPERM || error == EACCES;
}

/// A limit on one kind of namespace that is 0.
Blocker closed_limit(const std::string& root)
{
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
        const std::string name = std::string("user/max_") + kind + "_namespaces";
        if (setting(root, name) == 0) {
            return {"the kernel allows no " + std::string(kind) + " namespaces (user.max_" + kind +
                        "_namespaces is 0)",
                    std::string("sysctl -w user.max_") + kind + "_namespaces=15000"};
        }
    }
    return {};
}

bool has_root_mount(const std::string& mountinfo)
{
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string field;
        for (int i = 0; i < 5 && fields >> field; ++i) {
        }
        if (field == "/") {
            return true;
        }
    }
    return false;
}

/// In a chroot the kernel makes no user namespace (user_namespaces(7), EPERM).
bool in_chroot(const std::string& root)
{
    try {
        constexpr std::size_t max_mountinfo = 4UL << 20U;
        if (!has_root_mount(
                read_file_limited(AT_FDCWD, root + "/proc/self/mountinfo", max_mountinfo))) {
            return true;
        }
    } catch (const std::exception&) {
        return false; // no /proc: nothing can be told
    }
    // A chroot into a mount point: the first process sees the same mounts, from another root.
    const auto same = [&](const std::string& a, const std::string& b) -> std::optional<bool> {
        struct stat first{};
        struct stat second{};
        if (::stat((root + a).c_str(), &first) != 0 || ::stat((root + b).c_str(), &second) != 0) {
            return std::nullopt;
        }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    };
    return same("/proc/1/ns/mnt", "/proc/self/ns/mnt") == true &&
           same("/proc/1/root/", "/proc/self/root/") == false;
}

Blocker namespace_blocker(const std::string& root, int error)
{
    if (auto closed = closed_limit(root); !closed.reason.empty() && error != EACCES) {
        return closed;
    }
    if (setting(root, "kernel/unprivileged_userns_clone") == 0) {
        return {"this kernel lets only root make user namespaces",
                "sysctl -w kernel.unprivileged_userns_clone=1"};
    }
    if (setting(root, "kernel/apparmor_restrict_unprivileged_userns") == 1) {
        return {"AppArmor keeps ordinary users from using user namespaces",
                "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
    }
    if (in_chroot(root)) {
        return {"berth runs in a chroot, where the kernel makes no user namespaces",
                "enter the tree with pivot_root instead, as containers and systemd-nspawn do"};
    }
    if (error == ENOSPC || error == EUSERS) {
        return {"too many namespaces exist, or they are nested too deeply",
                "sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000"};
    }
    return {"something around berth forbids user namespaces, as a container's seccomp profile or a "
            "chroot does",
            "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined ..."};
}

/// Nothing is missing on this host, and only who starts the server can do something about it.
std::string way_around(const std::string& step, const std::string& session)
{
    if (step == step_target) {
        return "Rename it on the host, or give the mount another target.";
    }
    return "An entry of the session's own home is in the way. Start the server without that mount "
           "and rename the entry, or give the mount another target; or remove the home with all "
           "that is in it: `berth sessions kill " +
           (session.empty() ? "KEY" : session) + " --purge`.";
}

} // namespace

Blocker explain(const LaunchResult& failed, const std::string& root, const std::string& session)
{
    if (failed.step == step_home || failed.step == step_target) {
        return {failed.text, way_around(failed.step, session)};
    }
    std::string what = failed.text;
    if (failed.error != 0) {
        what += ": " + std::generic_category().message(failed.error);
    }
    Blocker blocker;
    if (failed.step == "namespaces") {
        blocker = namespace_blocker(root, failed.error);
    } else if (failed.step == "proc" && is_refusal(failed.error)) {
        blocker = {"/proc of this container is masked, so a new one may not be mounted",
                   "docker run --security-opt systempaths=unconfined ..."};
    } else if (failed.step == "idmap") {
        blocker = {"its file system cannot map ids, so files written inside would belong to nobody",
                   "mount it read-only, or run berth as the folder's owner"};
    } else if (failed.step == "guest" && failed.error == EACCES) {
        // As root the guest is another uid than the one that installed it, e.g. with a umask of
        // 077.
        blocker = {"the session's user may not run the guest's program",
                   "chmod a+rx the program, and keep it on a file system without noexec"};
    } else if (failed.step == "launcher" && failed.error == EACCES) {
        blocker = {"the launcher's program may not be run",
                   "chmod a+rx the program, and keep it on a file system without noexec"};
    } else if (is_refusal(failed.error) && failed.step != "cgroup" && failed.step != "socket") {
        blocker = namespace_blocker(root, failed.error);
    } else if (failed.step == "guest" && failed.error == ENOENT) {
        blocker = {"the guest's program is missing", missing_program};
    } else if (failed.step == "launcher" && failed.error == ENOENT) {
        blocker = {"the launcher's program is missing", missing_program};
    }
    blocker.reason = blocker.reason.empty() ? what : blocker.reason + " (" + what + ")";
    return blocker;
}

} // namespace berth::local
