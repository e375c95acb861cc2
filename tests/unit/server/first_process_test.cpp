#include "server/first_process.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <functional>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using berth::server::leave_first_process;

namespace {

/// The exit status of `play`, which runs below the first process of a pid namespace of its own;
/// `meanwhile` is told that one's pid.
int below_the_first(const std::function<int()>& play,
                    const std::function<void(pid_t)>& meanwhile = {})
{
    const pid_t outer = ::fork();
    if (outer == 0) {
        const bool user = ::geteuid() != 0;
        if (::unshare(CLONE_NEWPID | (user ? CLONE_NEWUSER : 0)) != 0) {
            ::_exit(100);
        }
        const pid_t first = ::fork();
        if (first == 0) {
            leave_first_process();
            ::_exit(::getpid() == 1 ? 101 : play());
        }
        if (meanwhile) {
            meanwhile(first);
        }
        int status = 0;
        ::waitpid(first, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 102);
    }
    int status = 0;
    REQUIRE(::waitpid(outer, &status, 0) == outer);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/// Whether a process that has lost its parent and ended is gone in the end.
bool is_reaped()
{
    int ends[2] = {};
    if (::pipe(ends) != 0) {
        return false;
    }
    const pid_t parent = ::fork();
    if (parent == 0) {
        const pid_t orphan = ::fork();
        if (orphan == 0) {
            ::usleep(50'000);
            ::_exit(0);
        }
        ::_exit(::write(ends[1], &orphan, sizeof orphan) == sizeof orphan ? 0 : 1);
    }
    ::waitpid(parent, nullptr, 0);
    pid_t orphan = 0;
    if (::read(ends[0], &orphan, sizeof orphan) != sizeof orphan) {
        return false;
    }
    for (int tries = 0; tries < 500; ++tries) {
        if (::kill(orphan, 0) != 0 && errno == ESRCH) {
            return true;
        }
        ::usleep(10'000);
    }
    return false;
}

} // namespace

TEST_CASE("below the first process of a container nothing that has ended stays")
{
    CHECK(below_the_first([] { return is_reaped() ? 7 : 1; }) == 7);
}

TEST_CASE("signals of the first process reach who is below it, and its end is that one's")
{
    int ready[2] = {};
    REQUIRE(::pipe(ready) == 0);
    const auto end_it = [&](pid_t first) {
        char byte = 0;
        (void)!::read(ready[0], &byte, 1); // by then the first blocks signals
        ::kill(first, SIGTERM);
    };
    const auto wait = [&] {
        ::signal(SIGTERM, SIG_DFL); // else the tests' own handler tells of it
        (void)!::write(ready[1], "x", 1);
        for (;;) {
            ::pause();
        }
        return 0;
    };
    CHECK(below_the_first(wait, end_it) == 128 + SIGTERM);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("a process that is not the first goes on as it is")
{
    const pid_t before = ::getpid();
    leave_first_process();
    CHECK(::getpid() == before);
}
