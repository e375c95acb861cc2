#pragma once

// Every raw system call of berth, in one place, each with the kernel that brought it. glibc 2.36
// (Debian 12) has no wrapper for these; what it wraps (close_range, pidfd_open, open_tree,
// move_mount, mount_setattr, fsopen ...) is called by its name.

#include <csignal>
#include <cstddef>
#include <cstdint>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace berth::sys {

/// Linux 5.6.
inline int openat2(int dirfd, const char* path, const open_how& how) noexcept
{
    return static_cast<int>(::syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

/// Linux 3.17: SECCOMP_SET_MODE_FILTER without flags.
inline int seccomp_set_filter(const sock_fprog& program) noexcept
{
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

/// Linux 5.3; CLONE_INTO_CGROUP 5.7. Behaves as fork(2) (no stack is given): the child must keep
/// to async-signal-safe calls when the caller has threads.
inline pid_t clone3(const clone_args& args) noexcept
{
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

/// The same without a choice, for where a filter knows clone3 only by refusing it. Of the arguments
/// whose order differs between architectures only the flags are given; they come first but on s390.
inline pid_t clone_as_fork() noexcept
{
#ifdef __s390__
    return static_cast<pid_t>(::syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0));
#else
    return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

/// Linux 5.3. glibc 2.36 has pidfd_open and pidfd_send_signal, but its <sys/pidfd.h> lacks
/// extern "C" and so does not link from C++.
inline int pidfd_open(pid_t pid, unsigned flags) noexcept
{
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, flags));
}

/// Linux 5.1.
inline int pidfd_send_signal(int pidfd, int number) noexcept
{
    return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0));
}

/// Of the calling thread, as capset(). libcap would be a dependency for these two calls.
inline int capget(__user_cap_header_struct& header, __user_cap_data_struct* data) noexcept
{
    return static_cast<int>(::syscall(SYS_capget, &header, data));
}

inline int capset(__user_cap_header_struct& header, const __user_cap_data_struct* data) noexcept
{
    return static_cast<int>(::syscall(SYS_capset, &header, data));
}

inline int pivot_root(const char* new_root, const char* put_old) noexcept
{
    return static_cast<int>(::syscall(SYS_pivot_root, new_root, put_old));
}

/// waitid(2) with the kernel's fifth argument, which the C library leaves out: what the child used.
inline int waitid(int which, pid_t id, siginfo_t& info, int options, rusage& usage) noexcept
{
    return static_cast<int>(::syscall(SYS_waitid, which, id, &info, options, &usage));
}

/// Linux 5.14. Of the file system that `fd` is on; quotactl(2) wants the name of its device.
inline int quotactl_fd(int fd, unsigned command, unsigned id, void* data) noexcept
{
    return static_cast<int>(::syscall(SYS_quotactl_fd, fd, command, id, data));
}

/// Of the calling thread alone, unlike the C library's, which asks all threads of a process to
/// follow: for a child between fork and exec. -1 leaves an id as it is.
inline int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept
{
    return static_cast<int>(::syscall(SYS_setresuid, real, effective, saved));
}

inline int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept
{
    return static_cast<int>(::syscall(SYS_setresgid, real, effective, saved));
}

inline int setgroups(std::size_t count, const gid_t* groups) noexcept
{
    return static_cast<int>(::syscall(SYS_setgroups, count, groups));
}

/// Unlike the C library's it needs no memory: for a child between fork and exec. Returns the length
/// with the final NUL.
inline long getcwd(char* path, std::size_t size) noexcept
{
    return ::syscall(SYS_getcwd, path, size);
}

/// Linux 5.13 (landlock(7)), as the three calls are. The attributes are longer in younger kernels:
/// `size` says how much of them is given. With neither: the version of the kernel's Landlock.
inline int landlock_create_ruleset(const void* attributes, std::size_t size,
                                   std::uint32_t flags) noexcept
{
    return static_cast<int>(::syscall(SYS_landlock_create_ruleset, attributes, size, flags));
}

inline int landlock_add_rule(int ruleset, const landlock_path_beneath_attr& rule) noexcept
{
    return static_cast<int>(
        ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
}

inline int landlock_restrict_self(int ruleset) noexcept
{
    return static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset, 0));
}

} // namespace berth::sys
