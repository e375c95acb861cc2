#include "server/first_process.hpp"

#include "sandbox/base/signals_held.hpp"

#include <csignal>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::server {
namespace {

/// As a shell has it of who was killed.
int exit_status(int status) noexcept
{
    constexpr int killed = 128;
    return WIFSIGNALED(status) ? killed + WTERMSIG(status) : WEXITSTATUS(status);
}

/// With all signals held.
[[noreturn]] void be_first(pid_t child) noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::close_range(0, ~0U, 0); // a client sees the end of the child's output, not of this one's
    for (;;) {
        siginfo_t signal{};
        const int number = ::sigwaitinfo(&all, &signal);
        if (number > 0 && number != SIGCHLD) {
            ::kill(child, number);
        }
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended == child) {
                ::_exit(exit_status(status));
            }
        }
    }
}

} // namespace

void leave_first_process()
{
    if (::getpid() != 1) {
        return;
    }
    ::signal(SIGCHLD, SIG_DFL); // ignored, as it may be inherited, it would tell of nobody's end
    const SignalsHeld held;
    const pid_t child = ::fork();
    if (child > 0) {
        be_first(child);
    }
}

} // namespace berth::server
