#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/suspension.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

// Whatever a command does to stay alive, its whole tree is gone within two seconds of its timeout
// or of a cancel, and nothing else of the session is touched.

namespace berth::guest::test {
namespace {

using protocol::Fate;
using protocol::StopProof;
using std::chrono::milliseconds;

StopProof proof_of(Mode mode)
{
    return mode == Mode::cgroup ? StopProof::cgroup : StopProof::subreaper;
}

std::vector<pid_t> children()
{
    std::vector<pid_t> result;
    for (const auto& process : all_processes()) {
        if (process.parent == ::getpid()) {
            result.push_back(process.pid);
        }
    }
    return result;
}

/// Starts `command` and waits until it has made the file "ready" and then some: a busy host takes
/// its time for the start of a shell.
std::size_t start_and_wait(Guest& guest, const protocol::ExecuteRequest& request)
{
    const auto handle = guest.start(request);
    CHECK(guest.until([&] { return std::filesystem::exists(guest.home() + "/ready"); }));
    guest.spin(milliseconds(50));
    return handle;
}

/// Whether it is a descendant of this process.
bool is_below(pid_t pid)
{
    while (pid > 1) {
        const auto process = read_process(pid);
        if (!process) {
            return false;
        }
        pid = process->parent;
        if (pid == ::getpid()) {
            return true;
        }
    }
    return false;
}

/// Stopped, and nothing of it is left.
void check_ended(Guest& guest, Mode mode, const Outcome& done, Fate fate, const std::string& word)
{
    REQUIRE(!done.error);
    CHECK(done.reply.fate == fate);
    CHECK(done.reply.exit_code == -1);
    CHECK(done.reply.out.head == "before\n");
    CHECK(done.reply.survivors == 0);
    CHECK(done.reply.stop_proof == proof_of(mode));
    CHECK(done.reply.job_id.empty());
    CHECK(processes_with(word) == 0);
    CHECK(guest.run("echo on").reply.out.head == "on\n");
    CHECK(guest.commands->running() == 0);
}

void check_stopped(Guest& guest, Mode mode, const Outcome& done, Fate fate, const std::string& word)
{
    check_ended(guest, mode, done, fate, word);
    CHECK(guest.commands->jobs().empty());
}

/// `word` is in the command line of whatever it leaves.
void expect_stopped(Mode mode, const std::string& command, const std::string& word)
{
    CAPTURE(command);
    Guest guest(mode);
    const auto request = Guest::request(command);
    const auto handle = start_and_wait(guest, request);
    const auto since = std::chrono::steady_clock::now();
    guest.commands->cancel(request.id);
    const auto done = guest.wait_for(handle);
    CHECK(std::chrono::steady_clock::now() - since < milliseconds(20000));
    check_stopped(guest, mode, done, Fate::cancelled, word);
}

} // namespace

TEST_CASE("a stop ends the whole tree, whatever it does")
{
    in_each_mode([](Mode mode) {
        const std::string word = unique_word();
        const std::string sleep = "sleep " + word;
        const std::vector<std::string> commands = {
            "echo before; : >ready; " + sleep,
            "echo before; : >ready; trap '' TERM INT HUP QUIT; while :; do " + sleep + "; done",
            "echo before; : >ready; (setsid " + sleep + " &) ; setsid bash -c 'setsid " + sleep +
                " & " + sleep + "' & " + sleep,
            "echo before; : >ready; " + sleep + " & kill -STOP $$",
            "echo before; : >ready; " + sleep + " & kill -9 $PPID; " + sleep,
            "echo before; : >ready; kill -STOP $PPID; " + sleep,
            "(setsid " + sleep + " & setsid " + sleep +
                " &); echo before; : >ready; kill -9 $PPID; (setsid " + sleep + " & ); (" + sleep +
                " &); wait; " + sleep,
            "echo before; : >ready; nohup " + sleep + " >/dev/null 2>&1 </dev/null & disown; " +
                sleep,
            "echo before; : >ready; " + sleep + " | " + sleep + " | " + sleep,
            "echo before; : >ready; exec " + sleep,
        };
        for (const auto& command : commands) {
            expect_stopped(mode, command, word);
        }
    });
}

TEST_CASE("a timeout does the same, in its time")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto done = guest.run(
            "trap '' TERM; echo before; (setsid sleep " + word + " &); sleep " + word, 1500);
        CHECK(done.took >= milliseconds(1500));
        CHECK(done.took < milliseconds(20000));
        check_stopped(guest, mode, done, Fate::timed_out, word);
    });
}

TEST_CASE("a cancel twice is one cancel, and of nobody none")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto request = Guest::request("echo before; : >ready; sleep " + word);
        const auto handle = start_and_wait(guest, request);
        guest.commands->cancel(request.id);
        guest.commands->cancel(request.id);
        guest.commands->cancel("nobody");
        check_stopped(guest, mode, guest.wait_for(handle), Fate::cancelled, word);
        guest.commands->cancel(request.id);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    });
}

TEST_CASE("a stop in the midst of which the host is suspended goes on after it")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto request = Guest::request("echo before; : >ready; sleep " + word);
        const auto handle = start_and_wait(guest, request);
        guest.commands->cancel(request.id);
        const tests::Suspension night(std::chrono::hours(8));
        check_stopped(guest, mode, guest.wait_for(handle), Fate::cancelled, word);
    });
}

TEST_CASE("cancel at once, before the shell is there")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        for (int i = 0; i < 20; ++i) {
            const std::string word = unique_word();
            const auto request = Guest::request("sleep " + word);
            const auto handle = guest.start(request);
            guest.commands->cancel(request.id);
            const auto done = guest.wait_for(handle);
            CHECK(done.reply.fate == Fate::cancelled);
            CHECK(done.reply.survivors == 0);
            CHECK(processes_with(word) == 0);
        }
    });
}

TEST_CASE("two other commands and a job run on while one is stopped")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string job_word = unique_word();
        const auto job = guest.run("sleep " + job_word + " >/dev/null 2>&1 &").reply;
        REQUIRE(job.job_id == "job-1");
        const auto ticking = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done; echo end";
        const auto one = guest.start(Guest::request(ticking));
        const auto two = guest.start(Guest::request(ticking));
        const std::string word = unique_word();
        const auto stopped = guest.run(
            "kill -9 $PPID; trap '' TERM; (setsid sleep " + word + " &); sleep " + word, 200);
        CHECK(stopped.reply.fate == Fate::timed_out);
        CHECK(stopped.reply.survivors == 0);
        CHECK(processes_with(word) == 0);
        for (const auto handle : {one, two}) {
            const auto done = guest.wait_for(handle);
            CHECK(done.reply.fate == Fate::exited);
            CHECK(done.reply.out.head == "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\nend\n");
        }
        CHECK(processes_with(job_word) == 1);
        REQUIRE(guest.commands->jobs().size() == 1);
        CHECK(guest.commands->jobs().front().processes == 1);
    });
}

TEST_CASE("several shims that are killed at once: each command keeps what is its own")
{
    in_each_mode([](Mode mode) {
        for (int round = 0; round < 3; ++round) {
            Guest guest(mode);
            const std::string job_word = unique_word();
            const auto job = guest.run("sleep " + job_word + " >/dev/null 2>&1 &").reply;
            REQUIRE(job.job_id == "job-1");
            const auto victim = guest.start(Guest::request("sleep 1; echo victim; exit 3", 20'000));
            const std::string word = unique_word();
            const auto request =
                Guest::request("echo before; : >ready; sleep " + word + "; sleep " + word, 2000);
            const auto handle = start_and_wait(guest, request);
            for (const pid_t shim : children()) {
                ::kill(shim, SIGKILL);
            }
            const auto ended = guest.wait_for(victim);
            CHECK(ended.reply.fate == Fate::exited);
            CHECK(ended.reply.exit_code == 3);
            CHECK(ended.reply.out.head == "victim\n");
            CHECK(ended.took < milliseconds(10'000));
            check_ended(guest, mode, guest.wait_for(handle), Fate::timed_out, word);
            CHECK(processes_with(job_word) == 1);
            REQUIRE(guest.commands->jobs().size() == 1);
            CHECK(guest.commands->jobs().front().processes == 1);
        }
    });
}

TEST_CASE("orphans that may be of one of two commands: neither says that its stop is verified")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto request =
            Guest::request("(setsid sh -c ': >ready; sleep " + word + "' &); sleep " + word);
        const auto one = start_and_wait(guest, request);
        REQUIRE(guest.run("rm ready").reply.exit_code == 0);
        const auto another = Guest::request(request.command);
        const auto two = start_and_wait(guest, another);
        const auto shims = children();
        for (const pid_t shim : shims) {
            ::kill(shim, SIGKILL);
        }
        REQUIRE(guest.until([&] { // reaped
            return std::ranges::all_of(shims, [](pid_t shim) { return ::kill(shim, 0) != 0; });
        }));
        guest.commands->cancel(request.id);
        guest.commands->cancel(another.id);
        for (const auto handle : {one, two}) {
            const auto reply = guest.wait_for(handle).reply;
            CHECK(reply.fate == Fate::cancelled);
            CHECK(reply.stop_proof == (mode == Mode::cgroup ? StopProof::cgroup : StopProof::none));
        }
        CHECK(processes_with(word) == 0);
    });
}

TEST_CASE("jobs whose shims and processes are killed together are forgotten")
{
    in_each_mode([](Mode mode) {
        for (int round = 0; round < 10; ++round) {
            Guest guest(mode);
            for (int i = 0; i < 3; ++i) {
                (void)guest.run("sleep 300 >/dev/null 2>&1 &");
            }
            CHECK(guest.commands->jobs().size() == 3);
            for (const auto& process : all_processes()) {
                if (process.pid != ::getpid() && is_below(process.pid)) {
                    ::kill(process.pid, SIGKILL);
                }
            }
            CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        }
    });
}

TEST_CASE("a command that kills its shim is not lost: the guest inherits the shell")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        auto reply = guest.run("kill -9 $PPID; sleep 0.1; echo still here; exit 7").reply;
        CHECK(reply.fate == Fate::exited);
        CHECK(reply.exit_code == 7);
        CHECK(reply.out.head == "still here\n");
        CHECK(reply.usage_scope == (mode == Mode::cgroup ? reply.usage_scope : "process"));
        // Immediately: the shell may be reaped before or after its shim.
        for (int i = 0; i < 20; ++i) {
            reply = guest.run("kill -9 $PPID; exit 5").reply;
            CHECK(reply.fate == Fate::exited);
            CHECK(reply.exit_code == 5);
        }
        // What it leaves is a job all the same, and goes when it ends.
        const std::string word = unique_word();
        reply = guest.run("kill -9 $PPID; (setsid sleep " + word + " >/dev/null 2>&1 &)").reply;
        CHECK(reply.fate == Fate::exited);
        CHECK(!reply.job_id.empty());
        REQUIRE(reply.left_running.size() == 1);
        const auto pid = std::to_string(reply.left_running.front().pid);
        CHECK(guest.run("kill " + pid).reply.exit_code == 0);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    });
}

TEST_CASE("a command that dies with its shim")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto reply = guest.run("kill -9 $PPID $$").reply;
        CHECK(reply.fate == Fate::signaled);
        CHECK(reply.exit_code == 137);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    });
}

TEST_CASE("a command whose shim is killed before it has a shell is lost, and was not run")
{
    in_each_mode([](Mode mode) {
        // The shim waits here for room, as long as the test likes.
        const Pipe full = make_pipe(O_NONBLOCK);
        while (::write(full.write.get(), "x", 1) == 1) {
        }
        REQUIRE(::fcntl(full.write.get(), F_SETFL, 0) == 0);
        Guest guest(
            mode, [&](protocol::GuestConfig& config) { config.v1_tasks_fds = {full.write.get()}; });
        const auto before = children();
        const auto handle = guest.start(Guest::request("touch ran"));
        pid_t shim = -1;
        for (const pid_t child : children()) {
            shim = std::ranges::find(before, child) == before.end() ? child : shim;
        }
        REQUIRE(shim > 0);
        REQUIRE(::kill(shim, SIGKILL) == 0);
        const auto done = guest.wait_for(handle);
        REQUIRE(!done.error);
        CHECK(done.reply.fate == Fate::lost);
        CHECK(done.reply.exit_code == -1);
        CHECK(done.reply.signal == 0);
        CHECK(done.reply.survivors == 0);
        CHECK(!std::filesystem::exists(guest.home() + "/ran"));
        std::array<char, 4096> drained{};
        REQUIRE(::read(full.read.get(), drained.data(), drained.size()) > 0);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    });
}

TEST_CASE("on_exit kill: what was left is stopped, the command's end is its own")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        auto request = Guest::request("(setsid sleep " + word + " &); echo done; exit 6");
        request.on_exit = protocol::OnExit::kill;
        const auto reply = guest.run(request).reply;
        CHECK(reply.fate == Fate::exited);
        CHECK(reply.exit_code == 6);
        CHECK(reply.out.head == "done\n");
        CHECK(reply.job_id.empty());
        CHECK(reply.stop_proof == proof_of(mode));
        CHECK(processes_with(word) == 0);
    });
}

TEST_CASE("the end of the runner ends what runs")
{
    in_each_mode([](Mode mode) {
        const std::string word = unique_word();
        {
            Guest guest(mode);
            (void)guest.run("setsid sleep " + word + " &");
            (void)guest.start(Guest::request("trap '' TERM; sleep " + word));
            CHECK(guest.until([&] { return processes_with(word) >= 2; }));
        }
        CHECK(processes_with(word) == 0);
    });
}

TEST_CASE("a fork bomb of an ordinary user is stopped, without cgroups")
{
    // The limit on processes binds no root.
    as_ordinary_user(64999, [] {
        int result = 0;
        {
            Guest guest(Mode::subreaper,
                        [](protocol::GuestConfig& config) { config.limit_nproc = 200; });
            const std::string bomb = "b() { b | b & }; echo before; b 2>/dev/null; sleep 60";
            const auto request = Guest::request(bomb, 700);
            const auto done = guest.run(request);
            result |= done.reply.fate == Fate::timed_out ? 0 : 4;
            result |= done.reply.survivors == 0 ? 0 : 8;
            result |= done.took < milliseconds(20000) ? 0 : 16;
            result |= guest.run("echo on").reply.out.head == "on\n" ? 0 : 32;
        }
        return result;
    });
}

} // namespace berth::guest::test
