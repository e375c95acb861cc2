#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

// Jobs where two things come together: a filter and half a line, an end and the last output, a
// deadline and an end, an id and another machine.

namespace berth::guest::test {

using std::chrono::milliseconds;

TEST_CASE("a filter waits for the rest of a line, and leaves one without a match for later")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("printf 'Starting server'; sleep 1; echo ' done'; sleep 20"));
    const auto begun = output(guest, "job-1", "", 500, "server.*done");
    CHECK(begun.out.text.head.empty());
    CHECK(begun.out.filtered_lines == 0);
    CHECK(begun.cursor == "0-0");
    CHECK(output(guest, "job-1", "", 15'000, "server.*done").out.text.head ==
          "Starting server done\n");
}

TEST_CASE("a slow filter does not hold up the session")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("tr -dc 01 </dev/urandom | fold -w 900 | head -c 1000000"));
    REQUIRE(guest.until([&] { return guest.commands->jobs().empty(); }));
    protocol::JobOutputRequest request;
    request.job_id = "job-1";
    request.filter = "0[01]{40}1[01]{400}x";
    std::vector<Commands::Waiting> waiting;
    for (int call = 0; call < 20; ++call) {
        waiting.push_back(
            guest.commands->job_output(request, [](const auto&, const std::exception_ptr&) {}));
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(guest.run("true").took < milliseconds(5000));
    }
    for (const auto call : waiting) {
        guest.commands->drop(call);
    }
}

TEST_CASE("a filter has a thread of its own, and lets go of it when its call is dropped")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("tr -dc 01 </dev/urandom | fold -w 900 | head -c 9000000"));
    REQUIRE(guest.until([&] { return guest.commands->jobs().empty(); }));
    CHECK(guest.workers.threads() == 0);
    protocol::JobOutputRequest request;
    request.job_id = "job-1";
    request.filter = "0[01]{40}1[01]{400}x";
    bool answered = false;
    const auto waiting = guest.commands->job_output(
        request, [&](const auto&, const std::exception_ptr&) { answered = true; });
    CHECK(guest.until([&] { return guest.workers.threads() == 1; }));
    guest.commands->drop(waiting);
    CHECK(guest.until([&] { return guest.workers.threads() == 0; })); // idle for a while
    CHECK(!answered);
}

TEST_CASE("a filter judges what is shown: without escape sequences, if that is how it is set")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("printf '\\033[31merror\\033[0m: x\\nwarning\\n'"));
    REQUIRE(guest.until([&] { return guest.commands->jobs().empty(); }));
    const auto told = output(guest, "job-1", "", 0, "^error: x$");
    CHECK(told.out.text.head == "\x1b[31merror\x1b[0m: x\n");
    CHECK(told.out.filtered_lines == 1);
    CHECK(output(guest, "job-1", "", 0, "31m").out.text.head.empty());
}

TEST_CASE("who waits is not woken by a bar, but by the line that it becomes")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("for n in {1..9}; do printf '\\r%d0%%' $n; sleep 0.15; done; "
                                  "until [ -e ~/go ]; do sleep 0.02; printf '\\r99%%'; done; "
                                  "echo; sleep 300",
                                  300'000));
    const auto bar = output(guest, "job-1", "", 2000);
    CHECK(bar.out.text.head.ends_with('%')); // once the wait was over
    const std::ofstream go(guest.home() + "/go");
    const auto told = output(guest, "job-1", bar.cursor, 60'000);
    CHECK(told.out.text.head.ends_with('\n'));
    CHECK(told.state.running);
}

TEST_CASE("what a leftover prints last is read, whichever of its ends is heard of first")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        CHECK(guest.run("(sleep 0.3; echo last) & ").reply.job_id == "job-1");
        CHECK(guest.run("sleep 0.1 & ").reply.job_id == "job-2");
        // The loop stands still meanwhile: the end of job-2 calls the reaper, which finds both.
        std::this_thread::sleep_for(milliseconds(1500));
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(output(guest, "job-1").out.text.head == "last\n");
    });
}

TEST_CASE("a client that leaves does not shorten the life of a job to be")
{
    Guest guest(Mode::subreaper);
    auto request = Guest::request("sleep 20", 5000);
    request.on_timeout = protocol::OnTimeout::background;
    request.job_lifetime = 60'000;
    (void)guest.start(request);
    guest.commands->detach(request.id);
    REQUIRE(guest.commands->jobs().size() == 1);
    CHECK(guest.commands->jobs().front().remaining.value_or(0) > 30'000);
    request = Guest::request("sleep 20", 5000);
    request.on_timeout = protocol::OnTimeout::background;
    (void)guest.start(request);
    guest.commands->detach(request.id);
    REQUIRE(guest.commands->jobs().size() == 2);
    CHECK(!guest.commands->jobs().back().remaining);
}

TEST_CASE("a command whose client leaves before it can begin is told as one that was not run")
{
    Guest guest(Mode::subreaper);
    auto request = Guest::request("echo on >ran");
    request.workdir = guest.home() + "/missing";
    request.acknowledge = true;
    SUBCASE("and then fails")
    {
        (void)guest.start(request);
        CHECK(guest.commands->detach(request.id) == "job-1");
    }
    SUBCASE("and failed when nobody was there any more")
    {
        const auto asked = guest.commands->asked(request);
        const auto outcome = guest.run(request);
        REQUIRE(outcome.error);
        (void)guest.run("true");
        CHECK(guest.commands->detach(request.id).empty());
        guest.commands->note_not_run(asked, outcome.error);
    }
    REQUIRE(guest.until([&] { return guest.commands->ended_jobs().size() == 1; }));
    const auto job = guest.commands->ended_jobs().front();
    CHECK(job.not_run);
    CHECK(job.unseen);
    CHECK(job.order == 1);
    CHECK(job.command == request.command);
    const auto state = output(guest, job.job_id).state;
    CHECK(state.not_run);
    CHECK(state.notice.find("/missing") != std::string::npos);
}

TEST_CASE("input that nobody could read is not told as sent, closed behind it or not")
{
    Guest guest(Mode::subreaper);
    for (const char* job : {"job-1", "job-2"}) {
        auto closing = in_background("exec <&-; echo closed; sleep 30");
        closing.stdin_open = true;
        (void)guest.run(closing);
        (void)output(guest, job, "", 15'000);
    }
    CHECK(code_of([&] { (void)guest.commands->job_input({"job-1", "x", true}); }) ==
          ErrorCode::conflict);
    CHECK(!guest.commands->job_input({"job-2", "", true}).state.takes_input);
}

TEST_CASE("an exit code is kept where the deadline comes while the last output is read")
{
    Guest guest(Mode::subreaper);
    int known = 0;
    for (int job = 1; job <= 5; ++job) {
        (void)guest.run(
            in_background("(while :; do echo x; sleep 0.01; done) & sleep 0.3; exit 3", 360));
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        known += output(guest, "job-" + std::to_string(job)).state.exit_code == 3 ? 1 : 0;
    }
    CHECK(known >= 1); // on a busy host the deadline may come before the end
}

TEST_CASE("of each outcome that comes to reach nobody it is said at once, whoever is here")
{
    Guest guest(Mode::subreaper);
    int said = 0;
    guest.commands->on_left_unseen([&] { ++said; });
    const auto running = Guest::request("sleep 0.2");
    (void)guest.start(running);
    guest.commands->detach(running.id);
    CHECK(said == 1);
    auto answered = Guest::request("exit 3");
    answered.acknowledge = true;
    CHECK(guest.run(answered).reply.exit_code == 3);
    CHECK(guest.until([&] { return guest.commands->running() == 0; }));
    guest.commands->detach(answered.id);
    CHECK(said == 2);
    auto job = in_background("exit 4");
    job.acknowledge = true;
    CHECK(guest.run(job).reply.background);
    CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    guest.commands->detach(job.id);
    CHECK(said == 3);
    guest.commands->note_not_run(guest.commands->asked(Guest::request("true")),
                                 std::make_exception_ptr(Error(ErrorCode::busy, "no place")));
    CHECK(said == 4);
    guest.commands->settle_claim(guest.commands->lend_unseen(), /*told=*/false);
    CHECK(said == 5);
    guest.commands->settle_claim(guest.commands->lend_unseen(), /*told=*/true);
    CHECK(said == 5);
    CHECK_FALSE(guest.commands->has_unseen());
}

TEST_CASE("of what somebody is about to tell the list says so, until it is told or comes back")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("exit 3");
    (void)guest.start(request);
    guest.commands->detach(request.id);
    REQUIRE(guest.until([&] { return guest.commands->jobs().empty(); }));
    const auto job = [&] { return guest.commands->ended_jobs().at(0); };
    CHECK_FALSE(job().lent);
    for (const bool told : {false, true}) {
        const auto claim = guest.commands->lend_unseen();
        CHECK(job().lent);
        CHECK_FALSE(job().unseen);
        guest.commands->settle_claim(claim, told);
        CHECK_FALSE(job().lent);
        CHECK(job().unseen == !told);
    }
}

TEST_CASE("a job that forks and ends without a pause ran as it was ended, whatever a look has seen")
{
    Guest guest(Mode::subreaper);
    for (int tries = 0; tries < 5; ++tries) {
        const auto job = guest.run(in_background("perl -e 'while (1) { exit if fork }'"));
        guest.spin(milliseconds(30));
        const auto ended = kill(guest, job.reply.job_id, SIGKILL);
        CHECK_FALSE(ended.state.running);
        CHECK(ended.signalled >= 1);
    }
}

TEST_CASE("a job's id is that of its machine")
{
    EventLoop loop;
    protocol::GuestConfig config;
    config.home = "/";
    config.environment = {{"PATH", "/usr/bin:/bin"}};
    SessionState session("/");
    Workers workers;
    Commands commands(loop, workers, config, session, {}, ShellProgram::find(), "7c3e");
    std::string job;
    (void)commands.start(in_background("true"),
                         [&](const protocol::ExecuteReply& reply, const std::exception_ptr&) {
                             job = reply.job_id;
                             loop.stop();
                         });
    loop.run();
    CHECK(job == "job-1-7c3e");
    CHECK(code_of([&] { (void)commands.job_input({"job-1", "x", false}); }) ==
          ErrorCode::not_found);
}

} // namespace berth::guest::test
