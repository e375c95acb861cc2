#include "sandbox/local/namespace_blocker.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/proc_self.hpp"

#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>
#include <sstream>

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

/// A limit on one kind of namespace that is 0.
Blocker closed_limit(const std::string& root)
{
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
        const std::string name = std::string("user/max_") + kind + "_namespaces";
        if (setting(root, name) == 0) {
            return {"the kernel allows no " + std::string(kind) + " namespaces (user.max_" + kind +
                        "_namespaces is 0)",
                    std::string("as root: sysctl -w user.max_") + kind + "_namespaces=15000"};
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

/// clone(2), EPERM: the kernel makes no user namespace for ids that the present one does not have.
Blocker unmapped_id(const std::string& root)
{
    const auto lacks = [&](const char* kind, const char* map) {
        try {
            const long id = effective_id(root, kind);
            return id >= 0 && !has_ids(root, map, static_cast<std::uint64_t>(id), 1);
        } catch (const std::exception&) {
            return false; // no /proc: nothing can be told
        }
    };
    if (!lacks("Uid", "uid_map") && !lacks("Gid", "gid_map")) {
        return {};
    }
    return {"the user or group that berth runs as has no id in the user namespace around it",
            "map both where that is made, as `unshare --map-current-user` does"};
}

} // namespace

Blocker namespace_blocker(const std::string& root, int error)
{
    if (auto closed = closed_limit(root); !closed.reason.empty() && error != EACCES) {
        return closed;
    }
    if (setting(root, "kernel/unprivileged_userns_clone") == 0) {
        return {"this kernel lets only root make user namespaces",
                "as root: sysctl -w kernel.unprivileged_userns_clone=1"};
    }
    if (setting(root, "kernel/apparmor_restrict_unprivileged_userns") == 1) {
        return {"AppArmor keeps ordinary users from using user namespaces",
                "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
    }
    if (in_chroot(root)) {
        return {"berth runs in a chroot, where the kernel makes no user namespaces",
                "enter the tree with pivot_root instead, as containers and systemd-nspawn do"};
    }
    if (error == EPERM) {
        if (auto unmapped = unmapped_id(root); !unmapped.reason.empty()) {
            return unmapped;
        }
    }
    if (error == ENOSPC || error == EUSERS) {
        return {"too many namespaces exist, or they are nested too deeply",
                "as root: sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000"};
    }
    return {"something around berth forbids user namespaces, as a container's seccomp profile or a "
            "chroot does",
            "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined ..."};
}

} // namespace berth::local
