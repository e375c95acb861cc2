#include "sandbox/filter/proxy/confinement.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/seccomp_code.hpp"
#include "sandbox/filter/proxy/listener.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <grp.h>
#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace berth::filter {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#else
#error "berth-proxy: name this architecture as the kernel's filters do"
#endif

void require_done(bool done, const char* what)
{
    if (!done) {
        throw_errno(what);
    }
}

void become(std::uint32_t user)
{
    if (::geteuid() != 0) {
        return;
    }
    require_done(::setgroups(0, nullptr) == 0, "leave root's groups");
    require_done(::setresgid(user, user, user) == 0, "leave root's group");
    require_done(::setresuid(user, user, user) == 0, "leave root");
}

/// It parses what hostile programs send: whoever takes it over by that shall have no shell here,
/// and nobody else's memory. The rest it needs (files of the resolver, sockets, threads) is what
/// its user may do.
void forbid_calls()
{
    using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions
    constexpr std::array forbidden{SYS_execve,
                                   SYS_execveat,
                                   SYS_ptrace,
                                   SYS_process_vm_readv,
                                   SYS_process_vm_writev,
                                   SYS_kill,
                                   SYS_mount,
                                   SYS_unshare,
                                   SYS_setns,
                                   SYS_bpf,
                                   SYS_io_uring_setup,
                                   SYS_keyctl,
                                   SYS_add_key,
                                   SYS_userfaultfd,
                                   SYS_perf_event_open,
                                   SYS_pidfd_getfd,
                                   SYS_pidfd_send_signal};
    constexpr std::uint32_t first_of_x32 = 0x40000000; // the same calls under other numbers
    std::array<sock_filter, 7 + forbidden.size() * 2> code{};
    std::size_t next = 0;
    code.at(next++) = load(offsetof(seccomp_data, arch));
    code.at(next++) = jump(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 1, 0);
    code.at(next++) = kill_process();
    code.at(next++) = load(offsetof(seccomp_data, nr));
    code.at(next++) = jump(BPF_JMP | BPF_JGE | BPF_K, first_of_x32, 0, 1);
    code.at(next++) = kill_process();
    for (const long call : forbidden) {
        code.at(next++) = jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
        code.at(next++) = refuse(EPERM);
    }
    code.at(next++) = allow();
    const sock_fprog program{static_cast<unsigned short>(next), code.data()};
    require_done(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
                 "install the filter of system calls");
}

void limit(__rlimit_resource_t what, rlim_t most)
{
    rlimit now{};
    require_done(::getrlimit(what, &now) == 0, "read a resource limit");
    const rlim_t allowed = std::min(most, now.rlim_max);
    const rlimit value{allowed, allowed};
    require_done(::setrlimit(what, &value) == 0, "set a resource limit");
}

} // namespace

void confine_proxy(std::uint32_t user)
{
    // Two sockets for each connection, and what the resolver opens.
    limit(RLIMIT_NOFILE, most_clients * 6);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    become(user);
    require_done(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "give up new privileges");
    require_done(::prctl(PR_SET_DUMPABLE, 0) == 0, "be not dumpable");
    forbid_calls();
}

} // namespace berth::filter
