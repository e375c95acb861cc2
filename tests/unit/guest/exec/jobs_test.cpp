#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// What a command leaves running: named, kept, drained, stopped when there are too many.

namespace berth::guest::test {
using protocol::Fate;
using std::chrono::milliseconds;

namespace {

/// Of the guest too, as by a cgroup: that of its configuration is for commands.
bool limit_processes()
{
    const struct rlimit limit = {100, 100};
    return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

/// Has all processes for a while, with a file "full" meanwhile. No job, so that nothing may be
/// stopped for another command.
protocol::ExecuteRequest greedy(const std::string& seconds)
{
    return Guest::request("perl -e 'my @all; while (1) { my $p = fork; "
                          "last if !defined $p; if (!$p) { sleep 60; exit } "
                          "push @all, $p } open(F, \">\", \"full\"); "
                          "select(undef, undef, undef, " +
                          seconds + "); kill 9, @all; wait for @all; unlink \"full\"'");
}

} // namespace

TEST_CASE("a background child that holds the pipe: the call ends with its shell")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto done = guest.run("sleep " + word + " & echo started");
        CHECK(done.took < milliseconds(20000));
        const auto& reply = done.reply;
        CHECK(reply.fate == Fate::exited);
        CHECK(reply.out.head == "started\n");
        CHECK(reply.out.held_open);
        CHECK(reply.job_id == "job-1");
        REQUIRE(reply.left_running.size() == 1);
        CHECK(reply.left_running.front().name == "[sleep]"); // the command line a worker reads
        CHECK(reply.left_running.front().pid > 1);
        CHECK(!reply.out.spill_path.empty());
        CHECK(guest.commands->running() == 0);
        const auto jobs = guest.commands->jobs();
        REQUIRE(jobs.size() == 1);
        CHECK(jobs.front().job_id == "job-1");
        CHECK(jobs.front().status == "running");
        CHECK(jobs.front().processes == 1);
        CHECK(guest.run("sleep 0 & sleep 9 >/dev/null 2>&1 &").reply.job_id == "job-2");
    });
}

TEST_CASE("a server in the background serves the next calls too")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        // The child lets go of the pipe when it runs, not when it is made.
        auto done = guest.run("(while :; do date >beat; sleep 0.05; done) >log 2>&1 & sleep 0.3");
        CHECK(done.took < milliseconds(20000));
        CHECK(done.reply.job_id == "job-1");
        CHECK(!done.reply.out.held_open);
        done = guest.run("rm -f beat; until [ -e beat ]; do sleep 0.05; done; echo beats");
        CHECK(done.reply.out.head == "beats\n");
        CHECK(done.reply.job_id.empty());
    });
}

TEST_CASE("a process substitution that is about to end is waited for and is no job")
{
    Guest guest(Mode::subreaper);
    // On a busy host one may need longer than it is given; without the wait none would make it.
    int in_time = 0;
    for (int i = 0; i < 10; ++i) {
        const auto reply = guest.run("echo text > >(sleep 0.005; cat)").reply;
        in_time += reply.out.head == "text\n" && reply.job_id.empty() ? 1 : 0;
    }
    CHECK(in_time > 0);
}

TEST_CASE("a job prints on into its file, and is forgotten when it ends")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto reply =
            guest.run("echo first; (sleep 0.2; seq 20000; echo last) & sleep 0.01").reply;
        CHECK(reply.out.head == "first\n");
        REQUIRE(!reply.out.spill_path.empty());
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        // 108894 bytes of numbers, more than the pipe holds: somebody read it.
        CHECK(std::filesystem::file_size(reply.out.spill_path) == 6 + 108894 + 5);
    });
}

TEST_CASE("a job that has ended by the time of the reply is none")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        int jobs = 0;
        for (int i = 0; i < 20; ++i) {
            const auto reply = guest.run("true & true & (true &)").reply;
            CHECK(reply.job_id.empty() == reply.left_running.empty());
            jobs += reply.job_id.empty() ? 0 : 1;
        }
        CHECK(jobs < 20);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    });
}

TEST_CASE("no room for another job: what was left is stopped, and the notice says so")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode, [](protocol::GuestConfig& config) { config.max_jobs = 1; });
        const std::string word = unique_word();
        CHECK(guest.run("sleep " + word + " >/dev/null 2>&1 &").reply.job_id == "job-1");
        const auto reply = guest.run("setsid sleep " + word + " & echo x").reply;
        CHECK(reply.job_id.empty());
        CHECK(reply.fate == Fate::exited);
        CHECK(reply.out.head == "x\n");
        CHECK(reply.notice.find("too many jobs are running, 1 may at once (session.jobs)") !=
              std::string::npos);
        CHECK(reply.survivors == 0);
        CHECK(processes_with(word) == 1);
    });
}

TEST_CASE("a detached command goes on as a job, under its own timeout")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        auto request = Guest::request("cd /; sleep " + word, 400);
        const auto timed = guest.start(request);
        guest.commands->detach(request.id);
        CHECK(guest.commands->running() == 0);
        REQUIRE(guest.commands->jobs().size() == 1);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(processes_with(word) == 0);
        CHECK(!guest.outcome(timed));

        request = Guest::request("sleep 0.2; echo x >file; cd /");
        const auto ended = guest.start(request);
        guest.commands->detach(request.id);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(std::filesystem::exists(guest.home() + "/file"));
        CHECK(guest.session->cwd() == guest.home());
        CHECK(!guest.outcome(ended));
    });
}

TEST_CASE("a job that has taken every process is stopped for the next command, and named")
{
    // The limit on processes binds no root.
    as_ordinary_user(64998, [] {
        int result = 0;
        {
            Guest guest(Mode::subreaper,
                        [](protocol::GuestConfig& config) { config.limit_nproc = 500; });
            // Takes each process that comes free.
            const std::string greedy = "perl -e 'while (1) { my $p = fork; if (!defined $p) "
                                       "{ select(undef, undef, undef, 0.001) } "
                                       "elsif (!$p) { sleep 60; exit } }' >/dev/null 2>&1 & ";
            const auto left = guest.run(greedy + "sleep 0.5").reply;
            result |= left.job_id == "job-1" ? 0 : 4;
            const auto done = guest.run("seq 2 | cat");
            result |= !done.error && done.reply.out.head == "1\n2\n" ? 0 : 8;
            result |= done.reply.notice.find("job-1 (perl -e ") == 0 ? 0 : 16;
            result |= guest.commands->jobs().empty() ? 0 : 32;
            result |= guest.run("echo on").reply.notice.empty() ? 0 : 64;
        }
        return result;
    });
}

TEST_CASE("a command for which no process is free waits a second, and is told then")
{
    as_ordinary_user(64997, [] {
        int result = 0;
        {
            result |= limit_processes() ? 0 : 128;
            Guest guest(Mode::subreaper);
            const auto run_when_full = [&guest](const std::string& seconds) {
                const auto full = guest.home() + "/full";
                const auto other = guest.start(greedy(seconds));
                const bool is_full = guest.until([&] { return std::filesystem::exists(full); });
                auto done = guest.run("echo on");
                const bool ended = guest.until([&] { return guest.outcome(other).has_value(); });
                return std::pair(is_full && ended, std::move(done));
            };
            const auto [was_full, done] = run_when_full("0.4");
            result |= was_full && !done.error && done.reply.out.head == "on\n" ? 0 : 4;
            result |= done.reply.notice.empty() && done.took > milliseconds(200) ? 0 : 8;
            const auto [was_full_again, refused] = run_when_full("2.5");
            result |= was_full_again && refused.error ? 0 : 16;
            result |=
                refused.took > milliseconds(900) && refused.took < milliseconds(2300) ? 0 : 32;
            result |= guest.run("echo on").reply.out.head == "on\n" ? 0 : 64;
        }
        return result;
    });
}

TEST_CASE("a command that waits for a process when its connection breaks: a job tells if none came")
{
    as_ordinary_user(64996, [] {
        int result = 0;
        {
            result |= limit_processes() ? 0 : 128;
            Guest guest(Mode::subreaper);
            const auto full = guest.home() + "/full";
            const auto other = guest.start(greedy("2.5"));
            result |= guest.until([&] { return std::filesystem::exists(full); }) ? 0 : 4;
            const auto request = Guest::request("echo on >ran");
            const auto waiting = guest.start(request);
            guest.spin(milliseconds(100));
            result |= guest.commands->detach(request.id).empty() ? 0 : 8;
            result |= guest.until([&] { return !guest.commands->ended_jobs().empty(); }) ? 0 : 16;
            const auto jobs = guest.commands->ended_jobs();
            result |= jobs.size() == 1 && jobs.front().unseen && jobs.front().job_id == "job-1" &&
                              jobs.front().not_run && jobs.front().command == "echo on >ran"
                          ? 0
                          : 32;
            result |= !guest.outcome(waiting) ? 0 : 64;
            result |= guest.until([&] { return guest.outcome(other).has_value(); }) ? 0 : 4;
            result |= std::filesystem::exists(guest.home() + "/ran") ? 16 : 0;
        }
        return result;
    });
}

} // namespace berth::guest::test
