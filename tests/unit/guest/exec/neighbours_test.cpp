#include "sandbox/base/syscalls.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

// What one command does to another, or to its own shim, and what is told of it.

namespace berth::guest::test {

using protocol::Fate;
using std::chrono::milliseconds;

namespace {

/// Of a session whose count of kills is the file `events` of its home.
auto counting_kills_in(UniqueFd& events)
{
    return [&events](protocol::GuestConfig& config) {
        const std::string path = config.home + "/events";
        events.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        REQUIRE(events);
        config.oom_events_fd = events.get();
    };
}

} // namespace

TEST_CASE("a shim that is stopped tells of its command's end all the same")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        for (const char* command :
             {"kill -STOP $PPID; exit 3", "sleep 0.1; kill -STOP $PPID; sleep 0.1; exit 3",
              "kill -TSTP $PPID; kill -STOP $PPID; kill -TTIN $PPID; exit 3"}) {
            CAPTURE(command);
            const auto done = guest.run(command, 10'000);
            REQUIRE(!done.error);
            CHECK(done.reply.fate == Fate::exited);
            CHECK(done.reply.exit_code == 3);
            CHECK(done.took < milliseconds(8000));
        }
        const auto neighbour =
            guest.start(Guest::request("echo $PPID >shim; sleep 0.5; echo done", 10'000));
        (void)guest.run("until [ -s shim ]; do sleep 0.01; done; kill -STOP $(cat shim)");
        const auto done = guest.wait_for(neighbour);
        CHECK(done.reply.fate == Fate::exited);
        CHECK(done.reply.out.head == "done\n");
    });
}

TEST_CASE("a stopped process that is no shim stays so")
{
    Guest guest(Mode::subreaper);
    // The guest inherits it, and hears of its stop.
    const auto left = guest.run("kill -9 $PPID; (sleep 300 & echo $! >pid); kill -STOP $(cat pid)");
    REQUIRE(!left.error);
    guest.spin(milliseconds(300));
    CHECK(guest.run("grep State /proc/$(cat pid)/status").reply.out.head ==
          "State:\tT (stopped)\n");
    CHECK(guest.run("kill -9 $(cat pid)").reply.exit_code == 0);
}

TEST_CASE("a stopped process that has the number of a shim that is gone stays so")
{
    Guest guest(Mode::subreaper);
    // A job whose shim was killed: the command stays in the books, with the shim's number.
    const auto left =
        guest.run("echo $PPID >shim; kill -9 $PPID; sleep 300 >/dev/null 2>&1 & exit");
    REQUIRE(!left.error);
    CHECK_FALSE(left.reply.job_id.empty());
    pid_t number = 0;
    std::ifstream(guest.home() + "/shim") >> number;
    REQUIRE(number > 0);
    clone_args args{};
    args.exit_signal = SIGCHLD;
    args.set_tid = reinterpret_cast<std::uintptr_t>(&number);
    args.set_tid_size = 1;
    const pid_t child = sys::clone3(args);
    if (child == 0) {
        for (;;) {
            ::pause();
        }
    }
    if (child < 0 && errno == EPERM) {
        MESSAGE("not tried: only root may choose the number of a process");
        return;
    }
    REQUIRE(child == number);
    REQUIRE(::kill(child, SIGSTOP) == 0);
    guest.spin(milliseconds(300));
    const auto process = read_process(child);
    REQUIRE(process);
    CHECK(process->state == 'T');
    ::kill(child, SIGKILL);
    guest.spin(milliseconds(50)); // it is reaped as an orphan is
}

TEST_CASE("a count of kills that is the session's: whose it was is only told where it is known")
{
    UniqueFd events;
    Guest guest(Mode::subreaper, counting_kills_in(events));
    const std::string killed = "echo oom_kill 1 >events; kill -9 $$";
    CHECK(guest.run(killed).reply.fate == Fate::oom_killed);

    CHECK(guest.run(": >events").reply.fate == Fate::exited);
    const auto other = guest.start(Guest::request("sleep 1"));
    const auto done = guest.run(killed).reply;
    CHECK(done.fate == Fate::signaled);
    CHECK(done.notice.find("killed 1 process of this session while") != std::string::npos);
    CHECK(guest.wait_for(other).reply.fate == Fate::exited);

    CHECK(guest.run(": >events").reply.fate == Fate::exited);
    const auto first =
        guest.start(Guest::request("until [ -s events ]; do sleep 0.01; done; kill -9 $$"));
    CHECK(guest.run("echo oom_kill 1 >events").reply.fate == Fate::exited);
    CHECK(guest.wait_for(first).reply.fate == Fate::signaled);

    // One that has been told, but of which the shim has yet to be reaped, runs nothing.
    CHECK(guest.run(": >events").reply.fate == Fate::exited);
    std::optional<std::size_t> next;
    (void)guest.commands->start(Guest::request(":"),
                                [&](const protocol::ExecuteReply&, const std::exception_ptr&) {
                                    next = guest.start(Guest::request(killed));
                                });
    REQUIRE(guest.until([&] { return next.has_value(); }));
    CHECK(guest.wait_for(*next).reply.fate == Fate::oom_killed);
}

TEST_CASE("a job that was ended on request was not killed for want of memory, whatever of it was")
{
    UniqueFd events;
    Guest guest(Mode::subreaper, counting_kills_in(events));
    const auto job =
        guest.run(in_background("echo oom_kill 1 >events; echo met; sleep 60")).reply.job_id;
    CHECK(output(guest, job, "", 5'000).out.text.head == "met\n");
    const auto state = kill(guest, job, SIGKILL).state;
    CHECK(state.fate == Fate::signaled);
    CHECK(state.ended_by == "kill");
    CHECK(state.notice.find("the memory limit was reached") != std::string::npos);
}

} // namespace berth::guest::test
