#include "sandbox/local/launcher/syscall_rules.hpp"

#include <seccomp.h>

#include <cerrno>
#include <initializer_list>

#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace berth::local {
namespace {

using Test = Argument::Test;
using Rules = std::vector<SyscallRule>;

// ioprio_set(2). Debian's linux/ioprio.h of 6.1.192 is no C++: it names a parameter "class".
constexpr std::uint64_t ioprio_who_process = 1;
constexpr std::uint64_t ioprio_who_pgrp = 2;
constexpr std::uint64_t ioprio_who_user = 3;

// Younger than Debian 12's headers; the same on every architecture.
constexpr int number_of_cachestat = 451;      // Linux 6.5
constexpr int number_of_open_tree_attr = 467; // Linux 6.15

constexpr std::uint64_t newtime = 0x80; // CLONE_NEWTIME: in clone(2) a part of the signal's number
constexpr std::array<std::uint64_t, 7> namespaces{CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
                                                  CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
                                                  CLONE_NEWCGROUP};

// socket(2), IPPROTO_…: modules, of which the kernel loads one for whoever asks.
constexpr std::uint64_t l2tp = 115;
constexpr std::uint64_t smc = 256; // Linux 6.11
constexpr std::array<std::uint64_t, 5> rare_protocols{IPPROTO_DCCP, IPPROTO_SCTP, IPPROTO_UDPLITE,
                                                      l2tp, smc};

/// setsockopt(2), SOL_SOCKET.
constexpr std::array<std::uint64_t, 4> socket_programs{
    SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF};

constexpr std::array<std::uint64_t, 3> terminal_requests{TIOCSTI, TIOCLINUX, TIOCSETD};

Argument is(unsigned index, std::uint64_t value)
{
    return {Test::equals, index, value};
}

Argument has(unsigned index, std::uint64_t bits)
{
    return {Test::has_bits, index, bits};
}

void refuse(Rules& rules, std::initializer_list<int> calls, int error = EPERM)
{
    for (const int call : calls) {
        rules.push_back({.number = call, .error = error});
    }
}

void refuse_if(Rules& rules, int call, Argument first, Argument second = {})
{
    rules.push_back({.number = call, .error = EPERM, .tests = {first, second}});
}

/// It has the commands' uid.
void protect_guest(Rules& rules)
{
    // RLIMIT_CPU 1 on pid 1 kills it, RLIMIT_NOFILE 0 makes it deaf. Only other processes' limits
    // are closed, and only changing them: a shell's ulimit works on itself.
    refuse_if(rules, SCMP_SYS(prlimit64), {Test::not_zero, 0}, {Test::not_zero, 2});
    for (const int call : {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                           SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr)}) {
        refuse_if(rules, call, is(0, 1));
    }
    // The guest leads process group 1; "all processes of the user" always includes it.
    refuse_if(rules, SCMP_SYS(setpriority), is(0, PRIO_PROCESS), is(1, 1));
    refuse_if(rules, SCMP_SYS(setpriority), is(0, PRIO_PGRP), is(1, 1));
    refuse_if(rules, SCMP_SYS(setpriority), is(0, PRIO_USER));
    refuse_if(rules, SCMP_SYS(ioprio_set), is(0, ioprio_who_process), is(1, 1));
    refuse_if(rules, SCMP_SYS(ioprio_set), is(0, ioprio_who_pgrp), is(1, 1));
    refuse_if(rules, SCMP_SYS(ioprio_set), is(0, ioprio_who_user));
}

/// What has let programs out of their sandboxes before, without a use for those in one.
void close_kernel_interfaces(Rules& rules)
{
    // The session keyring of whoever started the server comes along through fork and exec, and who
    // possesses a keyring may read its keys: a login's Kerberos tickets or file system keys. No
    // namespace holds that back.
    refuse(rules, {SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key)});
    // Large interfaces to the kernel's inside, each the way of many exploits. io_uring makes calls
    // that no filter sees.
    refuse(rules, {SCMP_SYS(bpf), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
                   SCMP_SYS(io_uring_register), SCMP_SYS(userfaultfd), SCMP_SYS(perf_event_open),
                   SCMP_SYS(fanotify_init), SCMP_SYS(fanotify_mark)});
    // A file by its number is opened past the mounts that hide it ("shocker").
    refuse(rules, {SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at)});
    // The machine's own business.
    refuse(rules,
           {SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
            SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(reboot), SCMP_SYS(swapon),
            SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd),
            SCMP_SYS(syslog), SCMP_SYS(vhangup), SCMP_SYS(iopl), SCMP_SYS(ioperm),
            SCMP_SYS(modify_ldt), SCMP_SYS(sethostname), SCMP_SYS(setdomainname)});
    refuse(rules, {SCMP_SYS(clock_settime), SCMP_SYS(settimeofday), SCMP_SYS(adjtimex),
                   SCMP_SYS(clock_adjtime)});
    // Contexts for io_submit(2): of these the host has one number (fs.aio-max-nr), which one
    // command could take. Libraries read and write without.
    refuse(rules, {SCMP_SYS(io_setup)}, ENOSYS);
    // Nobody's any more, or, as page cache of files that all sessions share, nobody's business.
    refuse(rules,
           {SCMP_SYS(uselib), SCMP_SYS(ustat), SCMP_SYS(sysfs), SCMP_SYS(_sysctl),
            SCMP_SYS(create_module), SCMP_SYS(get_kernel_syms), SCMP_SYS(query_module),
            SCMP_SYS(nfsservctl), SCMP_SYS(lookup_dcookie), number_of_cachestat},
           ENOSYS);
}

/// A second lock: without capabilities the kernel refuses these itself.
void close_mounts_and_namespaces(Rules& rules, bool forbid_clone3)
{
    refuse(rules, {SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
                   SCMP_SYS(move_mount), SCMP_SYS(open_tree), number_of_open_tree_attr,
                   SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
                   SCMP_SYS(mount_setattr), SCMP_SYS(setns)});
    // A user namespace gives all capabilities inside it, and with them most of what an exploit
    // needs.
    for (const auto space : namespaces) {
        refuse_if(rules, SCMP_SYS(unshare), has(0, space));
        refuse_if(rules, SCMP_SYS(clone), has(0, space));
    }
    refuse_if(rules, SCMP_SYS(unshare), has(0, newtime));
    if (forbid_clone3) {
        // Libraries fall back to clone(2). The guest then cannot start commands into their cgroups
        // either, so this is the last resort.
        refuse(rules, {SCMP_SYS(clone3)}, ENOSYS);
    }
}

/// Only unix, inet, inet6 and netlink's NETLINK_ROUTE, which `ip`, node and python ask for
/// addresses. Of the others each is code in the kernel that asks for no privilege, and many are
/// modules that a mere socket(2) loads. Types of sockets: seccomp.cpp.
void close_socket_families(Rules& rules)
{
    const int call = SCMP_SYS(socket);
    for (std::uint64_t family = AF_INET + 1; family < AF_NETLINK; ++family) {
        if (family != AF_INET6) {
            refuse_if(rules, call, is(0, family));
        }
    }
    refuse_if(rules, call, {Test::above, 0, AF_NETLINK});
    refuse_if(rules, call, is(0, AF_NETLINK), {Test::not_zero, 2});
    for (const auto protocol : rare_protocols) {
        refuse_if(rules, call, is(2, protocol));
    }
    // It makes a socket of the family first, with all that comes of that, and asks then whether
    // that has pairs. TIPC has.
    refuse_if(rules, SCMP_SYS(socketpair), {Test::above, 0, AF_UNIX});
}

/// The kernel compiles them into memory of which the host has one number (net.core.bpf_jit_limit),
/// no cgroup's. Without any left, and without an interpreter as most kernels are built, nobody has
/// a filter of system calls any more but who may use bpf(2): no new sandbox starts, no sshd takes a
/// login. Those of eBPF need a descriptor of bpf(2), which is refused too: two locks.
void close_socket_programs(Rules& rules)
{
    for (const auto option : socket_programs) {
        refuse_if(rules, SCMP_SYS(setsockopt), is(1, SOL_SOCKET), is(2, option));
    }
}

/// TIOCSTI and TIOCLINUX type into a terminal (CVE-2017-5226); TIOCSETD loads a line discipline of
/// the kernel's (CVE-2017-2636).
void close_terminals(Rules& rules)
{
    for (const auto request : terminal_requests) {
        refuse_if(rules, SCMP_SYS(ioctl), is(1, request));
    }
}

} // namespace

std::vector<SyscallRule> refused_calls(bool forbid_namespaces)
{
    Rules rules;
    protect_guest(rules);
    close_kernel_interfaces(rules);
    close_mounts_and_namespaces(rules, forbid_namespaces);
    close_socket_families(rules);
    close_socket_programs(rules);
    close_terminals(rules);
    return rules;
}

} // namespace berth::local
