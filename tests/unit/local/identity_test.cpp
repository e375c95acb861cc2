// What the launcher writes to /proc/<pid> is for its child alone.

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/identity.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;

namespace {

/// 0 when both refuse, as they cannot find a process of theirs in this /proc.
int try_both()
{
    const LaunchSpec spec;
    int refused = 0;
    try {
        IdentityMaps(::getpid()).write(spec);
    } catch (const Failure& failure) {
        refused += failure.step() == "identity" && failure.error() == ESRCH ? 1 : 0;
    }
    try {
        (void)make_owner_map(1000, 1000, spec);
    } catch (const Failure& failure) {
        refused += failure.step() == "identity" && failure.error() == ESRCH ? 1 : 0;
    }
    return refused == 2 ? 0 : 1;
}

} // namespace

TEST_CASE("no map is written where /proc is another PID namespace's")
{
    clone_args args{};
    args.flags = CLONE_NEWUSER | CLONE_NEWPID;
    args.exit_signal = SIGCHLD;
    const pid_t pid = sys::clone3(args);
    REQUIRE(pid >= 0);
    if (pid == 0) {
        ::_exit(try_both());
    }
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}
