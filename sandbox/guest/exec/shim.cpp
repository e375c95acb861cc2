#include "sandbox/guest/exec/shim.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/guest/exec/inherited_memory.hpp"
#include "sandbox/guest/exec/traced.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Everything here runs between clone and exec or in a process that never execs: no allocation, no
// lock, no exception.

namespace berth::guest {
namespace {

/// Shared by shim and shell until the shell's exec (CLONE_VM), so the shell leaves its failure
/// here.
struct Shell {
    const ShimPlan* plan = nullptr;
    ShimStep failed_step = ShimStep::none;
    int error = 0;
    std::array<char, max_cwd> start{}; ///< the working directory at exec
};

bool write_all(int fd, std::string_view data) noexcept
{
    while (!data.empty()) {
        const ssize_t size = ::write(fd, data.data(), data.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return false;
        }
        data.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

/// The path of the working directory, NUL-terminated; false, and errno, when it has none any more,
/// or one that is too long. The system
/// call itself: glibc's wrapper may allocate.
bool working_directory(std::array<char, max_cwd>& path) noexcept
{
    const long size = sys::getcwd(path.data(), path.size());
    if (size <= 0 || path[0] != '/') {
        errno = size > 0 ? EXDEV : errno; // "(unreachable)": outside of the root
        path[0] = '\0';
        return false;
    }
    return true;
}

void limit(int resource, std::uint64_t value) noexcept
{
    rlimit now{};
    // A hard limit can only be lowered.
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0) {
        now.rlim_max = std::min<rlim_t>(now.rlim_max, value);
        now.rlim_cur = now.rlim_max;
        ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    }
}

void soft_limit(int resource, std::uint64_t value) noexcept
{
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0) {
        now.rlim_cur = std::min<rlim_t>(now.rlim_cur, value);
        ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    }
}

void set_limits(const ShimPlan& plan) noexcept
{
    limit(RLIMIT_CORE, 1); // 0 would not keep a program that core_pattern names from being run
    if (plan.limit_nofile != 0) {
        limit(RLIMIT_NOFILE, plan.limit_nofile);
    }
    if (plan.limit_nproc != 0) {
        limit(RLIMIT_NPROC, plan.limit_nproc);
    }
    if (plan.limit_fsize != 0) {
        limit(RLIMIT_FSIZE, plan.limit_fsize);
    }
    if (plan.soft_limit_fsize != 0) {
        soft_limit(RLIMIT_FSIZE, plan.soft_limit_fsize);
    }
}

void reset_signals() noexcept
{
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
        ::sigaction(number, &action, nullptr); // refused for SIGKILL, SIGSTOP and glibc's own two
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int fail(Shell& shell, ShimStep step) noexcept
{
    shell.error = errno;
    shell.failed_step = step;
    return 127;
}

/// By the shell itself and before its first step: it may run, and kill its shim, before the shim is
/// given the processor again.
void report_start(const Shell& shell) noexcept
{
    ShimReport report;
    report.kind = ReportKind::started;
    report.shell = ::getpid();
    write_all(shell.plan->report, {reinterpret_cast<const char*>(&report), sizeof(report)});
}

/// What it is now, said again by root: from then on it is the lowest that a command may give
/// itself. The guest's own, which it inherited as that, would keep it alive at the expense of all
/// others.
bool bound_oom_score() noexcept
{
    const int file = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT; // no /proc: nor is there one for the command
    }
    std::array<char, 16> text{};
    const ssize_t size = ::pread(file, text.data(), text.size(), 0);
    const bool done =
        size > 0 && ::pwrite(file, text.data(), static_cast<std::size_t>(size), 0) == size;
    ::close(file);
    return done;
}

/// The guest's effective ids are the user's already; what is given up here is that it can be root
/// again. The raw calls: the C library's would wait for threads of the guest, which are not here.
bool give_up_root(const protocol::UserIds& user) noexcept
{
    return sys::setresuid(-1U, 0, -1U) == 0 && bound_oom_score() &&
           sys::setgroups(user.groups.size(), user.groups.data()) == 0 &&
           sys::setresgid(user.group, user.group, user.group) == 0 &&
           sys::setresuid(user.user, user.user, user.user) == 0;
}

int shell_main(void* argument)
{
    auto& shell = *static_cast<Shell*>(argument);
    const ShimPlan& plan = *shell.plan;
    ::setsid();
    ::umask(022);
    if (::chdir(plan.workdir) != 0) {
        return fail(shell, ShimStep::workdir);
    }
    working_directory(shell.start);
    report_start(shell);
    ::dup2(plan.input, 0);
    ::dup2(plan.output, 1);
    ::dup2(plan.error, 2);
    unsigned last = 2;
    if (plan.script >= 0) {
        ::dup2(plan.script, 3);
        last = 3;
    }
    // Whatever the guest forgot to mark close-on-exec would be the command's to use.
    ::close_range(last + 1, ~0U, 0);
    set_limits(plan);
    if (plan.run_as != nullptr && !give_up_root(*plan.run_as)) {
        return fail(shell, ShimStep::user);
    }
    reset_signals();
    if (plan.filter != nullptr && sys::seccomp_set_filter(*plan.filter) != 0) {
        return fail(shell, ShimStep::filter);
    }
    ::execve(plan.program, plan.arguments, plan.environment);
    return fail(shell, ShimStep::exec);
}

[[noreturn]] void report_failure(const ShimPlan& plan, ShimStep step, int error) noexcept
{
    ShimReport report;
    report.kind = ReportKind::failed;
    report.step = step;
    report.error = error;
    write_all(plan.report, {reinterpret_cast<const char*>(&report), sizeof(report)});
    ::_exit(127);
}

/// Written by the shim, after it joined the command's cgroups: the memory of the text is charged to
/// the command, not to the guest. Sealed, so that a reader gets the text and then end of file.
bool fill(int memfd, std::string_view text) noexcept
{
    return write_all(memfd, text) && ::lseek(memfd, 0, SEEK_SET) == 0 &&
           ::fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ==
               0;
}

void prepare(const ShimPlan& plan) noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_NAME, shim_name);
    // Without this the command could read the shim's descriptors and forge its reports.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int tasks : plan.v1_tasks) {
        // A command outside of its cgroup would have no limits: rather none at all.
        if (!write_all(tasks, "0")) {
            report_failure(plan, ShimStep::cgroup, errno);
        }
    }
    if ((!plan.input_text.empty() && !fill(plan.input, plan.input_text)) ||
        (plan.script >= 0 && !fill(plan.script, plan.script_text))) {
        report_failure(plan, ShimStep::input, errno);
    }
}

pid_t start_shell(const ShimPlan& plan, Shell& shell) noexcept
{
    alignas(16) static std::array<char, 64UL * 1024> stack;
    shell.plan = &plan;
    const pid_t pid = ::clone(shell_main, stack.data() + stack.size(),
                              CLONE_VM | CLONE_VFORK | CLONE_FS | SIGCHLD, &shell);
    if (pid < 0) {
        report_failure(plan, ShimStep::fork, errno);
    }
    if (shell.failed_step != ShimStep::none) {
        ::waitpid(pid, nullptr, __WALL);
        report_failure(plan, shell.failed_step, shell.error);
    }
    return pid;
}

/// waitpid's encoding of what waitid says.
int wait_status(const siginfo_t& info) noexcept
{
    switch (info.si_code) {
    case CLD_EXITED:
        return (info.si_status & 0xff) << 8;
    case CLD_DUMPED:
        return info.si_status | WCOREFLAG;
    default:
        return info.si_status;
    }
}

void report_end(int report_fd, const Shell& shell, pid_t pid, int status,
                const rusage& usage) noexcept
{
    static std::array<char, max_cwd> cwd;
    ShimReport report;
    report.kind = ReportKind::ended;
    report.shell = pid;
    report.status = status;
    if (working_directory(cwd)) {
        report.cwd_size = ::strlen(cwd.data());
    } else {
        report.error = errno;
    }
    report.moved = ::strcmp(cwd.data(), shell.start.data()) != 0 ? 1 : 0;
    report.peak_memory = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    report.cpu_time =
        static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
        static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    write_all(report_fd, {reinterpret_cast<const char*>(&report), sizeof(report)});
    write_all(report_fd, {cwd.data(), report.cwd_size});
}

void report_settled(int report_fd) noexcept
{
    ShimReport report;
    report.kind = ReportKind::settled;
    siginfo_t info{};
    report.children = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 ? 1 : 0;
    write_all(report_fd, {reinterpret_cast<const char*>(&report), sizeof(report)});
    (void)!::chdir("/"); // else the shim of a job would keep a directory busy
}

} // namespace

void run_shim(const ShimPlan& plan) noexcept
{
    static Shell shell;
    prepare(plan);
    const pid_t pid = start_shell(plan, shell);
    // The pipes of the command must not be held open by the shim: they would never end.
    constexpr int report_fd = 0;
    ::dup2(plan.report, report_fd);
    ::close_range(1, ~0U, 0);
    drop_inherited_memory(); // `plan` with it
    for (;;) {
        // Looked at first and reaped after the report: a shim that is killed in between leaves the
        // shell to the guest. The system call itself: glibc's wrapper drops the usage.
        siginfo_t info{};
        rusage usage{};
        if (sys::waitid(P_ALL, 0, info, WEXITED | WNOWAIT | __WALL, usage) != 0) {
            if (errno == ECHILD) {
                ::_exit(0);
            }
            continue;
        }
        if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) {
            if (!let_go_on(info.si_pid, info.si_status)) { // told once, else it is told for ever
                ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WSTOPPED | WNOHANG | __WALL);
            }
            continue; // it has not ended
        }
        const bool is_shell = info.si_pid == pid;
        if (is_shell) {
            report_end(report_fd, shell, pid, wait_status(info), usage);
        }
        ::waitpid(info.si_pid, nullptr, __WALL);
        if (is_shell) {
            report_settled(report_fd);
        }
    }
}

} // namespace berth::guest
