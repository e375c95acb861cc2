#include "sandbox/filter/proxy/confinement.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/landlock.hpp"
#include "sandbox/base/seccomp_code.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/policy.hpp"

#include <algorithm>
#include <array>
#include <asm/sockios.h>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/landlock.h>
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

/// A filter of system calls, in the making.
class Filter {
  public:
    Filter()
    {
        using namespace berth::seccomp; // NOLINT(google-build-using-namespace): its instructions
        constexpr std::uint32_t first_of_x32 = 0x40000000; // the same calls under other numbers
        code_ = {load(offsetof(seccomp_data, arch)),
                 jump(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 1, 0),
                 kill_process(),
                 load(offsetof(seccomp_data, nr)),
                 jump(BPF_JMP | BPF_JGE | BPF_K, first_of_x32, 0, 1),
                 kill_process()};
    }

    void refuse(long call)
    {
        add_jump(call, 0, 1);
        code_.push_back(seccomp::refuse(EPERM));
    }

    void refuse(long call, unsigned argument, const std::vector<unsigned long>& values)
    {
        add_jump(call, 0, static_cast<unsigned>(2 + 2 * values.size()));
        code_.push_back(seccomp::load_argument(argument));
        for (const auto value : values) {
            refuse(static_cast<long>(value));
        }
        code_.push_back(seccomp::allow());
    }

    void refuse_but(long call, unsigned argument, unsigned long value)
    {
        add_jump(call, 0, 4);
        code_.push_back(seccomp::load_argument(argument));
        add_jump(static_cast<long>(value), 1, 0);
        code_.push_back(seccomp::refuse(EPERM));
        code_.push_back(seccomp::allow());
    }

    void install()
    {
        code_.push_back(seccomp::allow());
        const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        require_done(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
                     "install the filter of system calls");
    }

  private:
    void add_jump(long value, unsigned if_equal, unsigned if_not)
    {
        code_.push_back(seccomp::jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value),
                                      if_equal, if_not));
    }

    std::vector<sock_filter> code_;
};

/// It parses what hostile programs send: whoever takes it over by that shall have no shell here,
/// nobody else's memory, and no way to end or hinder another process of its user, such as the proxy
/// of another session. The rest it needs (files of the resolver, sockets, threads) is what its user
/// may do.
void forbid_calls()
{
    constexpr std::array forbidden{SYS_execve,
                                   SYS_execveat,
                                   SYS_ptrace,
                                   SYS_process_vm_readv,
                                   SYS_process_vm_writev,
                                   SYS_process_madvise,
                                   SYS_kcmp,
                                   SYS_move_pages,
                                   SYS_migrate_pages,
                                   SYS_kill,
                                   SYS_tkill,
                                   SYS_tgkill,
                                   SYS_rt_sigqueueinfo,
                                   SYS_rt_tgsigqueueinfo,
                                   SYS_pidfd_send_signal,
                                   SYS_pidfd_getfd,
                                   SYS_setpriority,
                                   SYS_ioprio_set,
                                   SYS_sched_setattr,
                                   SYS_sched_setparam,
                                   SYS_sched_setscheduler,
                                   SYS_sched_setaffinity,
                                   SYS_mount,
                                   SYS_unshare,
                                   SYS_setns,
                                   SYS_bpf,
                                   SYS_io_uring_setup,
                                   SYS_keyctl,
                                   SYS_add_key,
                                   SYS_userfaultfd,
                                   SYS_perf_event_open};
    Filter filter;
    for (const long call : forbidden) {
        filter.refuse(call);
    }
    // Of another process: RLIMIT_CPU, of no time, ends it.
    filter.refuse_but(SYS_prlimit64, 0, 0);
    // Whom a signal tells of what happens to a descriptor, and which one, need not be oneself.
    filter.refuse(SYS_fcntl, 1, {F_SETOWN, F_SETSIG, F_SETOWN_EX});
    filter.refuse(SYS_ioctl, 1, {FIOSETOWN, SIOCSPGRP});
    filter.install();
}

/// What it opens it reads; files of its user are there to be changed by others. Where the kernel
/// has Landlock, which also keeps it from signals and memory of whoever is not under the same
/// rules.
void forbid_writing()
{
    const int version = sys::landlock_create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        return;
    }
    constexpr std::uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    LandlockAttributes handled;
    handled.files = (version >= 2 ? (LANDLOCK_ACCESS_FS_REFER << 1U) - 1
                                  : (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1) &
                    ~reading;
    handled.files |= version >= 3 ? landlock_truncate : 0;
    handled.scopes = static_cast<unsigned>(version) >= landlock_with_scopes ? landlock_signals : 0;
    const UniqueFd rules(sys::landlock_create_ruleset(&handled, sizeof handled, 0));
    require_done(rules.valid(), "make rules of Landlock");
    const UniqueFd null(::open("/dev/null", O_PATH | O_CLOEXEC)); // in place of its output
    require_done(
        null.valid() &&
            sys::landlock_add_rule(rules.get(), {.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE,
                                                 .parent_fd = null.get()}) == 0 &&
            sys::landlock_restrict_self(rules.get()) == 0,
        "keep to rules of Landlock");
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
    forbid_writing();
    forbid_calls();
}

} // namespace berth::filter
