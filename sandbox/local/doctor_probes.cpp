#include "sandbox/local/doctor_probes.hpp"

#include <array>

#include <unistd.h>

namespace berth::local {
namespace {

/// True inside where the namespace is another than the server's. Not where that cannot be told.
std::string own_namespace(const std::string& kind)
{
    const std::string path = "/proc/self/ns/" + kind;
    std::array<char, 64> name{};
    const auto size = ::readlink(path.c_str(), name.data(), name.size());
    if (size <= 0) {
        return "false";
    }
    return "n=$(readlink " + path + ") && [ \"$n\" != '" +
           std::string(name.data(), static_cast<std::size_t>(size)) + "' ]";
}

/// `programs`: without them nothing can be tried.
std::string held_if(const std::string& programs, const std::string& condition)
{
    return "exec 2>/dev/null; type " + programs + " >&2 || { echo untried; exit; }; " + condition +
           " && echo held";
}

/// Held when a fork is refused, not when few processes are left: a bash that cannot fork tries for
/// half a minute, or ends with the first child that does. Nothing is executed: on a slow machine
/// two hundred programs take longer than the time there is.
std::string too_many_processes()
{
    return "mkfifo /tmp/doctor && timeout 15 sh -c "
           "'for i in $(seq 200); do (: </tmp/doctor) 2>/dev/null & done' 2>&1 >/dev/null | "
           "grep -q fork";
}

/// Each hierarchy that /proc/self/cgroup names either begins for the sandbox where its command is,
/// or has the command in a cgroup of berth's.
std::string only_own_cgroups()
{
    return "grep -q : /proc/self/cgroup && "
           "! grep -vqE ':(/|(/\\.\\.)*(/berth/[0-9a-f]+)?/(cmds|guest)(/[^.]*)?)$' "
           "/proc/self/cgroup";
}

/// The cover of sysrq-trigger is /dev/null, and whoever writes to that presses no key.
std::string masked_files()
{
    return "[ \"$(head -qc 1 /proc/kcore /proc/kallsyms | wc -c)\" = 0 ] && "
           "{ [ \"$(stat -c %t:%T /proc/sysrq-trigger)\" = 1:3 ] || "
           "! (echo h >/proc/sysrq-trigger); }";
}

/// A home that takes nothing at all holds no limit.
std::string too_large_a_home()
{
    return "(f=$(mktemp -p ~) && trap 'rm -f \"$f\"' EXIT && head -c 4K /dev/zero >\"$f\" && "
           "! head -c 20M /dev/zero >\"$f\")";
}

} // namespace

std::vector<Probe> doctor_probes()
{
    return {
        {"userns", "used a capability: chroot, mount",
         held_if("chroot mount readlink",
                 own_namespace("user") + " && ! chroot / true && ! mount -t tmpfs x /tmp")},
        {"nested-userns", "made another user namespace", held_if("unshare", "! unshare -U true")},
        {"pidns", "looked for the host's first process",
         held_if("readlink tr grep", own_namespace("pid") + " && tr '\\0' ' ' </proc/1/cmdline | "
                                                            "grep -q '^berth-guest '")},
        {"mountns", "wrote to the host's programs",
         held_if("readlink touch", own_namespace("mnt") + " && ! touch /usr/berth-doctor")},
        {"ipcns", "looked for the host's shared memory", held_if("readlink", own_namespace("ipc"))},
        {"utsns", "looked for the host's name", held_if("readlink", own_namespace("uts"))},
        {"cgroupns", "looked for cgroups besides the session's own",
         held_if("readlink grep", own_namespace("cgroup") + " && " + only_own_cgroups())},
        {"netns", "looked for a network besides loopback",
         held_if("readlink grep",
                 own_namespace("net") + " && [ \"$(grep -c : /proc/net/dev)\" = 1 ]")},
        {"seccomp", "took the guest's descriptors away",
         held_if("prlimit", "! prlimit --pid 1 --nofile=0:0")},
        // A whiteout: the one device node that the kernel itself lets everybody make.
        {"landlock", "made a device node",
         held_if("mknod rm", "(rm -f /tmp/doctor-node; ! mknod /tmp/doctor-node c 0 0)")},
        // Opened, not read: at its address 0 there is no memory, and reading fails without a guard.
        {"guest", "read the guest's memory and environment",
         held_if("cat", "! cat /proc/1/environ && ! (: </proc/1/mem)")},
        {"proc-masks", "read kernel memory and pressed keys through /proc",
         held_if("head wc stat", masked_files())},
        {"cgroup-pids", "started more processes than allowed",
         held_if("mkfifo timeout sh seq grep", too_many_processes())},
        {"cgroup-memory", "used more memory than allowed",
         held_if("head tail wc grep",
                 "! (head -c 400M /dev/zero | tail -c 400M | wc -c) | grep -q 419430400")},
        {"quota", "wrote more to the home than allowed",
         held_if("head mktemp rm", too_large_a_home())},
    };
}

} // namespace berth::local
