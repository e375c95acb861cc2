#include "sandbox/base/error.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Commands in the background: what is known of them, read from them, written to them, and their
// end.

namespace berth::guest::test {
using protocol::Fate;
using std::chrono::milliseconds;

TEST_CASE("a command in the background: answered at once, its output and its exit code stay")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto reply =
            guest.run(in_background("echo out; echo err >&2; sleep 0.3; exit 3")).reply;
        CHECK(reply.background);
        CHECK(reply.job_id == "job-1");
        CHECK(reply.job_cursor == "0-0");
        CHECK(reply.job_remaining.value_or(0) > 10'000);
        CHECK(guest.commands->running() == 0);
        REQUIRE(guest.commands->jobs().size() == 1);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        for (int again = 0; again < 2; ++again) {
            const auto told = output(guest, "job-1");
            CHECK(!told.state.running);
            CHECK(told.state.fate == Fate::exited);
            CHECK(told.state.exit_code == 3);
            CHECK(told.state.ended_by.empty());
            CHECK(!told.state.remaining);
            CHECK(told.out.text.head == "out\n");
            CHECK(told.err.text.head == "err\n");
            CHECK(told.cursor == "4-4");
        }
        const auto ended = guest.commands->ended_jobs();
        REQUIRE(ended.size() == 1);
        CHECK(ended.front().exit_code == 3);
        CHECK(guest.session->cwd() == guest.home());
    });
}

TEST_CASE("waiting ends with output, with an end, or with its time")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("sleep 0.4; echo one; sleep 0.6; exit 2"));
    auto began = std::chrono::steady_clock::now();
    const auto first = output(guest, "job-1", "", 15'000);
    CHECK(std::chrono::steady_clock::now() - began < milliseconds(10'000));
    CHECK(first.out.text.head == "one\n");
    CHECK(first.state.running);
    const auto last = output(guest, "job-1", first.cursor, 15'000);
    CHECK(last.out.text.head.empty());
    CHECK(!last.state.running);
    CHECK(last.state.exit_code == 2);
    (void)guest.run(in_background("sleep 30"));
    began = std::chrono::steady_clock::now();
    CHECK(output(guest, "job-2", "", 300).state.running);
    CHECK(std::chrono::steady_clock::now() - began >= milliseconds(300));
}

TEST_CASE("waiting with a filter waits for a match")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(
        in_background("echo noise; sleep 0.3; echo noise; sleep 0.3; echo ready; sleep 30"));
    const auto told = output(guest, "job-1", "", 15'000, "^ready");
    CHECK(told.out.text.head == "ready\n");
    CHECK(told.out.filtered_lines == 2);
    CHECK(told.state.running);
}

TEST_CASE("a bad cursor, a bad filter and an unknown job are told apart")
{
    Guest guest(Mode::subreaper);
    CHECK(code_of([&] { (void)output(guest, "job-1"); }) == ErrorCode::not_found);
    (void)guest.run(in_background("sleep 30"));
    CHECK(code_of([&] { (void)output(guest, "job-1", "x"); }) == ErrorCode::invalid_argument);
    CHECK(code_of([&] { (void)output(guest, "job-1", "7-0"); }) == ErrorCode::invalid_argument);
    CHECK(code_of([&] { (void)output(guest, "job-1", "", 0, "("); }) ==
          ErrorCode::invalid_argument);
    try {
        (void)output(guest, "job-7");
    } catch (const Error& error) {
        CHECK(error.hint().find("job-1 (running)") != std::string::npos);
    }
}

TEST_CASE("a deadline ends the whole job and is told")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        (void)guest.run(in_background("setsid sleep " + word + " & sleep " + word, 400));
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(processes_with(word) == 0);
        const auto state = output(guest, "job-1").state;
        CHECK(state.fate == Fate::timed_out);
        CHECK(state.exit_code == -1);
        CHECK(state.ended_by == "deadline");
        CHECK(state.survivors == 0);
    });
}

TEST_CASE("what a command leaves running has a deadline, an end and an exit code")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        auto request = Guest::request("sleep " + word + " & echo started; exit 4");
        request.job_lifetime = 1500;
        const auto reply = guest.run(request).reply;
        CHECK(!reply.background);
        CHECK(reply.job_id == "job-1");
        CHECK(reply.job_cursor == "8-0");
        CHECK(reply.job_remaining.value_or(0) > 0);
        auto told = output(guest, "job-1");
        CHECK(told.state.running);
        CHECK(told.state.shell_ended);
        CHECK(told.state.exit_code == 4);
        CHECK(told.state.processes == 1);
        CHECK(told.out.text.head == "started\n");
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(processes_with(word) == 0);
        told = output(guest, "job-1");
        CHECK(told.state.exit_code == 4);
        CHECK(told.state.ended_by == "deadline");
    });
}

TEST_CASE("at its timeout a command goes on in the background, with what it had printed")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        auto request = Guest::request("cd /; echo before; sleep 1; echo after; exit 5", 300);
        request.on_timeout = protocol::OnTimeout::background;
        request.job_lifetime = 20'000;
        const auto reply = guest.run(request).reply;
        CHECK(reply.background);
        CHECK(reply.job_id == "job-1");
        CHECK(reply.out.head == "before\n");
        CHECK(reply.job_cursor == "7-0");
        CHECK(reply.job_remaining.value_or(0) > 10'000);
        const auto told = output(guest, "job-1", reply.job_cursor, 15'000);
        CHECK(told.out.text.head == "after\n");
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(output(guest, "job-1").state.exit_code == 5);
        CHECK(output(guest, "job-1").out.text.head == "before\nafter\n");
        CHECK(guest.session->cwd() == guest.home());
    });
}

TEST_CASE("no room for a job: refused in the background, stopped at the timeout")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) { config.max_jobs = 1; });
    (void)guest.run(in_background("sleep 30"));
    CHECK(code_of([&] { (void)guest.start(in_background("sleep 30")); }) == ErrorCode::busy);
    auto request = Guest::request("sleep 30", 200);
    request.on_timeout = protocol::OnTimeout::background;
    const auto reply = guest.run(request).reply;
    CHECK(!reply.background);
    CHECK(reply.fate == Fate::timed_out);
    CHECK(reply.notice.find("session.jobs") != std::string::npos);
    CHECK(guest.commands->jobs().size() == 1);
}

TEST_CASE("a command in the background that cannot start is an error and no job")
{
    Guest guest(Mode::subreaper);
    auto request = in_background("true");
    request.workdir = "/nowhere";
    const auto done = guest.run(request);
    CHECK(done.error);
    CHECK(guest.commands->jobs().empty());
    CHECK(guest.until([&] { return guest.commands->ended_jobs().empty(); }));
}

TEST_CASE("a kill ends the tree, softly where it listens")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        (void)guest.run(in_background("trap 'echo bye; exit 7' TERM; sleep " + word + " & wait"));
        (void)guest.run(
            in_background("trap '' TERM; (setsid sleep " + word + " & ) ; sleep " + word));
        guest.spin(milliseconds(200));
        const auto soft = kill(guest, "job-1", SIGTERM);
        CHECK(!soft.state.running);
        CHECK(soft.signalled == 2);
        CHECK(soft.state.exit_code == 7);
        CHECK(soft.state.ended_by == "kill");
        CHECK(output(guest, "job-1").out.text.head == "bye\n");
        const auto hard = kill(guest, "job-2", SIGTERM, 300);
        CHECK(!hard.state.running);
        CHECK(hard.state.fate == Fate::signaled);
        CHECK(hard.state.survivors == 0);
        CHECK(hard.state.stop_proof != protocol::StopProof::none);
        CHECK(processes_with(word) == 0);
        CHECK(kill(guest, "job-2", SIGTERM).signalled == 0);
    });
}

TEST_CASE("other signals are only sent")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("trap 'echo usr' USR1; echo ready; while :; do sleep 0.1; done"));
    const auto ready = output(guest, "job-1", "", 15'000);
    const auto sent = kill(guest, "job-1", SIGUSR1);
    CHECK(sent.state.running);
    CHECK(sent.signalled >= 1);
    // Those that have no handler die of it: the shell goes on.
    CHECK(output(guest, "job-1", ready.cursor, 15'000, "usr").out.text.head == "usr\n");
    CHECK(code_of([&] {
              guest.commands->job_kill({"job-1", 999, 0},
                                       [](const auto&, const std::exception_ptr&) {});
          }) == ErrorCode::invalid_argument);
}

TEST_CASE("input reaches a job, in order and whole, and ends")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        auto request = in_background("read -r first; echo \"got $first\"; wc -c");
        request.stdin_open = true;
        (void)guest.run(request);
        CHECK(guest.commands->job_input({"job-1", "hello\n", false}).taken == 6);
        const auto got = output(guest, "job-1", "", 15'000);
        CHECK(got.out.text.head == "got hello\n");
        CHECK(got.state.takes_input);
        for (int piece = 0; piece < 3; ++piece) {
            REQUIRE(guest.until([&] {
                try {
                    return guest.commands->job_input({"job-1", std::string(60'000, 'x'), false})
                               .taken == 60'000;
                } catch (const Error& error) {
                    CHECK(error.code() == ErrorCode::busy);
                    return false;
                }
            }));
        }
        CHECK(!guest.commands->job_input({"job-1", "", true}).state.takes_input);
        CHECK(code_of([&] { (void)guest.commands->job_input({"job-1", "x", false}); }) ==
              ErrorCode::conflict);
        const auto counted = output(guest, "job-1", got.cursor, 15'000);
        CHECK(counted.out.text.head == "180000\n");
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(code_of([&] { (void)guest.commands->job_input({"job-1", "x", false}); }) ==
              ErrorCode::conflict);
    });
}

TEST_CASE("a job that does not read takes so much and no more; one without input none")
{
    Guest guest(Mode::subreaper);
    auto request = in_background("sleep 30");
    request.stdin_open = true;
    request.input = "first";
    (void)guest.run(request);
    const std::string piece(60'000, 'x');
    int taken = 0;
    CHECK(code_of([&] {
              for (; taken < 10; ++taken) {
                  (void)guest.commands->job_input({"job-1", piece, false});
              }
          }) == ErrorCode::busy);
    CHECK(taken >= 1);
    CHECK(taken <= 2); // what a pipe holds, and 64 KiB
    CHECK(code_of([&] {
              (void)guest.commands->job_input({"job-1", std::string(70'000, 'x'), false});
          }) == ErrorCode::too_large);
    (void)guest.run(in_background("cat; exec sleep 30"));
    CHECK(code_of([&] { (void)guest.commands->job_input({"job-2", "x", false}); }) ==
          ErrorCode::unsupported);
    auto closing = in_background("exec <&-; echo closed; sleep 30");
    closing.stdin_open = true;
    (void)guest.run(closing);
    (void)output(guest, "job-3", "", 15'000);
    CHECK(code_of([&] { (void)guest.commands->job_input({"job-3", "x", false}); }) ==
          ErrorCode::conflict);
}

TEST_CASE("a job that prints without a pause: bounded, counted, and its calls are answered")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode,
                    [](protocol::GuestConfig& config) { config.spill_stream_limit = 1'000'000; });
        (void)guest.run(in_background("yes"));
        REQUIRE(guest.until([&] { return output(guest, "job-1").out.written > 3'000'000; }));
        const auto told = output(guest, "job-1");
        CHECK(told.out.dropped > 0);
        CHECK(told.out.text.head.size() + told.out.text.tail.size() == 10'000);
        CHECK(told.out.dropped + told.out.text.total_bytes == told.out.end);
        CHECK(told.out.text.head.size() == 6000);
        CHECK(told.out.text.omitted_bytes + 10'000 == told.out.text.total_bytes);
        const auto none = output(guest, "job-1", told.cursor, 300, "no such line");
        CHECK(none.out.text.head.empty());
        CHECK(none.out.filtered_lines > 0);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
        CHECK(!kill(guest, "job-1", SIGKILL).state.running);
    });
}

TEST_CASE("so many ended jobs are remembered once they were asked for, and no more")
{
    Guest guest(Mode::subreaper);
    for (int job = 0; job < 40; ++job) {
        const auto id = guest.run(in_background("exit " + std::to_string(job))).reply.job_id;
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(output(guest, id, "", 1000).state.exit_code == job);
    }
    CHECK(guest.until([&] { return guest.commands->ended_jobs().size() <= 33; }));
    CHECK(output(guest, "job-40").state.exit_code == 39);
    CHECK(code_of([&] { (void)output(guest, "job-1"); }) == ErrorCode::not_found);
    CHECK(guest.commands->forgotten_expected() == 0);
}

TEST_CASE("of jobs that nobody was told the end of more are remembered, and the others counted")
{
    Guest guest(Mode::subreaper);
    for (int job = 1; job <= 130; ++job) {
        auto request = in_background("exit " + std::to_string(job % 100));
        (void)guest.run(request);
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    }
    CHECK(guest.until([&] { return guest.commands->forgotten_expected() == 2; }));
    CHECK(guest.commands->ended_jobs().size() == 128);
    CHECK(output(guest, "job-3").state.exit_code == 3);
    try {
        (void)output(guest, "job-2");
        FAIL("it is remembered");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::not_found);
        CHECK(std::string(error.what()).find("is remembered no longer") != std::string::npos);
    }
    // Whoever lists them tells their ends.
    guest.commands->shown(guest.commands->untold_ends());
    CHECK(guest.commands->untold_ends().empty());
    CHECK_FALSE(guest.commands->has_unseen());
    CHECK(guest.commands->forgotten_expected() == 2);
}

TEST_CASE("outcomes that nobody has seen are not forgotten for others")
{
    Guest guest(Mode::subreaper);
    const auto leave_one = [&](int number) {
        const auto request = Guest::request("exit " + std::to_string(number));
        (void)guest.start(request);
        guest.commands->detach(request.id);
    };
    const auto are_there = [&](std::size_t count) {
        return guest.until([&] {
            return guest.commands->jobs().empty() && guest.commands->ended_jobs().size() == count;
        });
    };
    for (int number = 1; number <= 40; ++number) {
        leave_one(number);
    }
    CHECK(are_there(40));
    // Nor those that are known for them: whoever began it is about to ask.
    const auto job = guest.run(in_background("exit 41")).reply.job_id;
    CHECK(are_there(41));
    CHECK(output(guest, job).state.exit_code == 41);
    CHECK(output(guest, "job-1").state.exit_code == 1);
    guest.commands->seen_all();
    leave_one(42);
    CHECK(are_there(32 + 1));
    for (int number = 43; number < 43 + 140; ++number) {
        leave_one(number);
    }
    CHECK(are_there(32 + 128)); // there is an end to it, and it is told
    CHECK(guest.commands->forgotten_unseen() == 13);
    for (const bool told : {false, true}) {
        const auto claim = guest.commands->lend_unseen();
        CHECK(guest.commands->forgotten_unseen() == 0);
        leave_one(200);             // while somebody tells of the others
        CHECK(are_there(32 + 128)); // else it has ended, and has not taken its place yet
        guest.commands->settle_claim(claim, told);
        CHECK(guest.commands->forgotten_unseen() == (told ? 0 : 14));
    }
}

TEST_CASE("of too many outcomes that nobody has seen the earliest go, however their ends were told")
{
    constexpr int all = 134;
    Guest guest(Mode::subreaper);
    std::vector<std::string> ids;
    for (int number = 1; number <= all; ++number) {
        auto request = Guest::request("exit " + std::to_string(number));
        request.acknowledge = true;
        CHECK(guest.run(request).reply.exit_code == number);
        ids.push_back(request.id);
    }
    // The kernel closes the connections of a killed server in an order of its own.
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
        guest.commands->detach(*id);
    }
    // The last one may have answered and not be gone yet.
    CHECK(guest.until([&] { return guest.commands->forgotten_unseen() == all - 128; }));
    auto kept = guest.commands->ended_jobs();
    REQUIRE(kept.size() == 128);
    std::ranges::sort(kept, {}, &protocol::JobEntry::order);
    CHECK(kept.front().exit_code == all - 128 + 1);
    CHECK(kept.back().exit_code == all);
    CHECK(kept.back().job_id == "job-1");
}

TEST_CASE("the exit code of a command whose client has left is kept")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("echo done; exit 6");
    (void)guest.start(request);
    guest.commands->detach(request.id);
    CHECK(guest.until([&] { return guest.commands->ended_jobs().size() == 1; }));
    const auto told = output(guest, "job-1");
    CHECK(told.state.exit_code == 6);
    CHECK(told.out.text.head == "done\n");
}

TEST_CASE("a call that is dropped is not answered")
{
    Guest guest(Mode::subreaper);
    (void)guest.run(in_background("sleep 0.2"));
    bool answered = false;
    protocol::JobOutputRequest request;
    request.job_id = "job-1";
    request.wait = 10'000;
    const auto waiting = guest.commands->job_output(
        request, [&](const auto&, const std::exception_ptr&) { answered = true; });
    guest.commands->drop(waiting);
    CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    guest.spin(milliseconds(100));
    CHECK(!answered);
}

} // namespace berth::guest::test
