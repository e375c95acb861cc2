#include "sandbox/session/unseen_outcomes.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/sandbox/real_guest.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using berth::protocol::JobEntry;
using berth::sandbox::Receipt;
using berth::sandbox::Sandbox;
using berth::test::command;
using berth::tests::becomes_true;

// Results on their way to whoever asked for the command, with the real guest.

namespace {

struct Machine : berth::test::RealGuest {
    Machine() : RealGuest({.calls = 2}) {}

    /// The jobs that are marked, of those that ended and those that run.
    [[nodiscard]] std::vector<JobEntry> unseen(bool claim = false)
    {
        berth::protocol::InfoRequest request;
        request.claim_unseen = claim;
        const auto info = server->info({}, request);
        std::vector<JobEntry> found;
        for (const auto* jobs : {&info.ended, &info.jobs}) {
            for (const auto& job : *jobs) {
                if (job.unseen) {
                    found.push_back(job);
                }
            }
        }
        return found;
    }

    [[nodiscard]] std::size_t jobs()
    {
        const auto info = server->info();
        return info.jobs.size() + info.ended.size();
    }

    [[nodiscard]] std::string output_of(const std::string& job)
    {
        berth::protocol::JobOutputRequest request;
        request.job_id = job;
        request.head_limit = request.tail_limit = 100'000;
        return server->job_output(request, {}).out.text.head;
    }
};

} // namespace

TEST_CASE("a result that was acknowledged leaves nothing behind")
{
    Machine machine;
    Receipt receipt;
    CHECK(machine.server->execute(command("exit 3"), {}, {}, &receipt).acknowledge);
    receipt.acknowledge();
    receipt.acknowledge();
    CHECK(machine.jobs() == 0);
    // Also when its connection ends long after.
    machine.server.reset();
    machine.server = machine.another_server();
    CHECK(machine.jobs() == 0);
}

TEST_CASE("a result that nobody has seen is kept as that of a job")
{
    Machine machine;
    {
        Receipt receipt;
        (void)machine.server->execute(command("seq 3000; exit 7"), {}, {}, &receipt);
        CHECK(machine.jobs() == 0); // it may still be on its way
    }
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    const auto job = machine.unseen().front();
    CHECK(job.status == "ended");
    CHECK(job.exit_code == 7);
    CHECK(job.command == "seq 3000; exit 7");
    const auto text = machine.output_of(job.job_id);
    CHECK(text.size() == 13'893); // more than is kept in memory, less than is spilled for the host
    CHECK(text.starts_with("1\n2\n"));
    CHECK(text.ends_with("2999\n3000\n"));
    CHECK(machine.unseen().empty()); // whoever asks for it knows of it
    CHECK(machine.jobs() == 1);
}

TEST_CASE("an end that an answer tells is read once that answer is, and not before")
{
    Machine machine;
    auto request = command("read line; exit 7");
    request.background = request.stdin_open = true;
    request.acknowledge = false;
    const auto job = machine.server->execute(request, {}).job_id;
    berth::protocol::JobOutputRequest asked;
    asked.job_id = job;
    asked.acknowledge = true;
    Receipt receipt;
    CHECK_FALSE(machine.server->job_output(asked, {}, {}, &receipt).acknowledge); // it runs
    CHECK_FALSE(static_cast<bool>(receipt));
    (void)machine.server->job_input({job, "", true}, {});
    REQUIRE(becomes_true([&] { return machine.server->info().jobs.empty(); }));
    // Whether somebody is still to be told how it ended.
    const auto is_owed = [&] { return machine.server->info().ended.at(0).expected; };
    CHECK(machine.server->job_output(asked, {}, {}, &receipt).acknowledge);
    CHECK(is_owed());
    receipt = {}; // its server was killed before that was read
    berth::protocol::JobKillRequest kill;
    kill.job_id = job;
    kill.signal = SIGTERM;
    kill.acknowledge = true;
    CHECK(machine.server->job_kill(kill, {}, &receipt).acknowledge);
    CHECK(is_owed());
    receipt.decline(); // its client had cancelled the call
    CHECK(is_owed());
    CHECK(machine.server->job_output(asked, {}, {}, &receipt).acknowledge);
    receipt.acknowledge();
    CHECK(becomes_true([&] { return !is_owed(); }));
}

TEST_CASE("a client that asks for ends and reads none leaves connections to the other servers")
{
    Machine machine;
    auto request = command("exit 7");
    request.background = true;
    request.acknowledge = false;
    berth::protocol::JobOutputRequest asked;
    asked.job_id = machine.server->execute(request, {}).job_id;
    asked.wait = 10'000;
    asked.acknowledge = true;
    std::vector<Receipt> unread;
    const auto ask = [&] {
        Receipt receipt;
        CHECK(machine.server->job_output(asked, {}, {}, &receipt).state.exit_code == 7);
        const bool waits = static_cast<bool>(receipt);
        if (waits) {
            unread.push_back(std::move(receipt));
        }
        return waits;
    };
    std::size_t awaited = 0;
    for (int i = 0; i < 200; ++i) { // a guest has 128 connections
        awaited += ask() ? 1U : 0U;
    }
    CHECK(awaited == 32);
    CHECK(machine.server->info().ended.at(0).expected); // by nobody read yet
    CHECK_NOTHROW((void)machine.another_server()->info());
    unread[1].acknowledge();
    unread.erase(unread.begin());
    CHECK(ask());
    CHECK(ask());
    CHECK_FALSE(ask());
}

TEST_CASE("what is told to a server is marked no more")
{
    Machine machine;
    {
        Receipt receipt;
        (void)machine.server->execute(command("exit 1"), {}, {}, &receipt);
    }
    REQUIRE(becomes_true([&] { return !machine.unseen().empty(); }));
    CHECK(machine.unseen(/*claim=*/true).size() == 1);
    CHECK(machine.unseen().empty());
}

TEST_CASE(
    "of many results that nobody has seen the newest are told, in whatever order they were lost")
{
    Machine machine;
    std::vector<Receipt> receipts(5);
    for (std::size_t i = 0; i < receipts.size(); ++i) {
        (void)machine.server->execute(command("exit " + std::to_string(i)), {}, {}, &receipts[i]);
    }
    for (const std::size_t next : {2U, 1U, 0U, 4U, 3U}) {
        const auto before = machine.unseen().size();
        receipts[next] = {};
        REQUIRE(becomes_true([&] { return machine.unseen().size() == before + 1; }));
    }
    const auto notices = berth::session::unseen_notices(machine.server->info());
    REQUIRE(notices.size() == 4);
    CHECK(notices[0].find("`exit 2`") != std::string::npos);
    CHECK(notices[1].find("`exit 3`") != std::string::npos);
    CHECK(notices[2].find("`exit 4`") != std::string::npos);
    CHECK(notices[3].find("the results of 2 earlier commands") != std::string::npos);
}

TEST_CASE("without the promise to acknowledge it a result is taken for seen")
{
    Machine machine;
    auto request = command("exit 1");
    request.acknowledge = false;
    Receipt receipt;
    CHECK_FALSE(machine.server->execute(request, {}, {}, &receipt).acknowledge);
    machine.server.reset();
    machine.server = machine.another_server();
    CHECK(machine.jobs() == 0);
}

TEST_CASE("of results that are acknowledged at once none is left, though few connections are kept")
{
    Machine machine;
    machine.server.reset();
    machine.server = machine.another_server();
    std::vector<Receipt> receipts(12);
    for (auto& receipt : receipts) {
        (void)machine.server->execute(command("exit 1"), {}, {}, &receipt);
    }
    for (auto& receipt : receipts) {
        receipt.acknowledge();
    }
    CHECK(machine.jobs() == 0);
    REQUIRE(becomes_true([&] { return machine.server->info().connections <= 4; }));
    CHECK(machine.jobs() == 0);
}

TEST_CASE("what was lent to a server that tells it comes back unless it says that it did")
{
    Machine machine;
    {
        Receipt receipt;
        (void)machine.server->execute(command("exit 1"), {}, {}, &receipt);
    }
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    const auto job_id = machine.unseen().front().job_id;
    berth::protocol::InfoRequest claim;
    claim.claim_unseen = true;
    claim.acknowledge = true;
    auto first = machine.another_server();
    Receipt lent;
    const auto info = first->info({}, claim, &lent);
    CHECK(info.acknowledge);
    REQUIRE(info.ended.size() == 1);
    CHECK(info.ended.front().unseen);
    // Nobody else tells it meanwhile, whether or not that one would say so.
    CHECK(machine.unseen().empty());
    Receipt none;
    CHECK_FALSE(machine.server->info({}, claim, &none).acknowledge);
    CHECK_FALSE(static_cast<bool>(none));
    claim.acknowledge = false;
    CHECK_FALSE(machine.server->info({}, claim).ended.front().unseen);
    const auto all = machine.server->info().connections;
    SUBCASE("it was told")
    {
        lent.acknowledge();
        lent = {}; // which keeps the connections of its server
        first.reset();
        REQUIRE(becomes_true([&] { return machine.server->info().connections < all; }));
        CHECK(machine.unseen().empty());
    }
    SUBCASE("it was not")
    {
        lent = {};
        REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
        claim.acknowledge = true;
        CHECK(machine.server->info({}, claim, &lent).acknowledge); // and can be lent again
        lent.acknowledge();
        CHECK(becomes_true([&] { return machine.unseen().empty(); }));
    }
    SUBCASE("nor will it be")
    {
        lent.decline();
        CHECK(becomes_true([&] { return machine.unseen().size() == 1; }));
    }
    SUBCASE("somebody asked for it meanwhile")
    {
        (void)machine.output_of(job_id);
        lent = {};
        first.reset();
        REQUIRE(becomes_true([&] { return machine.server->info().connections < all; }));
        CHECK(machine.unseen().empty());
    }
}

TEST_CASE("what was lent while it ran comes back when it has ended")
{
    Machine machine;
    auto request = command("read line <gate; exit 5");
    (void)machine.server->execute(command("mkfifo gate"), {});
    request.background = true;
    {
        Receipt receipt;
        (void)machine.server->execute(request, {}, {}, &receipt);
    }
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    berth::protocol::InfoRequest claim;
    claim.claim_unseen = claim.acknowledge = true;
    Receipt lent;
    CHECK(machine.server->info({}, claim, &lent).acknowledge);
    (void)machine.server->execute(command("echo >gate"), {});
    REQUIRE(becomes_true([&] { return machine.server->info().jobs.empty(); }));
    CHECK(machine.unseen().empty());
    lent = {};
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    CHECK(machine.unseen().front().exit_code == 5);
}

TEST_CASE("a job of whose beginning nobody heard is marked")
{
    Machine machine;
    auto request = command("echo on; sleep 300");
    request.background = true;
    {
        Receipt receipt;
        const auto reply = machine.server->execute(request, {}, {}, &receipt);
        CHECK(reply.acknowledge);
    }
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    CHECK(machine.unseen().front().status == "running");
}

TEST_CASE("a job of whose beginning nobody heard is marked also when it has ended before")
{
    Machine machine;
    auto request = command("exit 5");
    request.background = true;
    {
        Receipt receipt;
        (void)machine.server->execute(request, {}, {}, &receipt);
        REQUIRE(becomes_true([&] { return machine.server->info().ended.size() == 1; }));
        CHECK(machine.unseen().empty()); // the answer may still be on its way
    }
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    CHECK(machine.unseen().front().exit_code == 5);
    {
        Receipt receipt;
        (void)machine.server->execute(request = command("exit 6"), {}, {}, &receipt);
        receipt.acknowledge();
    }
    CHECK(machine.unseen().size() == 1);
}

TEST_CASE("a command whose server ends meanwhile is marked, while it runs and after")
{
    Machine machine;
    (void)machine.server->execute(command("mkfifo gate"), {});
    auto server = machine.another_server();
    std::stop_source stop;
    std::jthread caller([&] {
        try {
            (void)server->execute(command("read line <gate; exit 4"), stop.get_token());
        } catch (const berth::Error&) {
            return; // it left
        }
    });
    REQUIRE(becomes_true([&] { return machine.server->info().calls == 1; }));
    server->leave_commands();
    stop.request_stop();
    caller.join();
    REQUIRE(becomes_true([&] { return machine.unseen().size() == 1; }));
    CHECK(machine.unseen().front().status == "running");
    (void)machine.server->execute(command("echo >gate"), {});
    REQUIRE(becomes_true([&] { return machine.unseen().front().status == "ended"; }));
    CHECK(machine.unseen().front().exit_code == 4);
}

TEST_CASE("what a command has left or begun is ended once its result is declined")
{
    Machine machine;
    auto request = command("sleep 300 & echo x");
    SUBCASE("left running") {}
    SUBCASE("begun in the background")
    {
        request = command("sleep 300");
        request.background = true;
    }
    SUBCASE("begun in the background, and its shell has ended")
    {
        request = command("sleep 300 & exit 3");
        request.background = true;
    }
    SUBCASE("its server leaves at once")
    {
        request.workdir = "/";
    }
    {
        Receipt receipt;
        const auto reply = machine.server->execute(request, {}, {}, &receipt);
        REQUIRE_FALSE(reply.job_id.empty());
        if (reply.background && request.command.ends_with("exit 3")) {
            REQUIRE(becomes_true([&] {
                const auto info = machine.server->info();
                return info.jobs.size() == 1 && info.jobs.front().exit_code == 3;
            }));
        }
        receipt.decline();
        if (request.workdir == "/") {
            machine.server.reset();
            machine.server = machine.another_server();
        }
    }
    CHECK(becomes_true([&] { return machine.server->info().jobs.empty(); }));
    CHECK(machine.unseen().empty());
}

TEST_CASE("of a declined result of a command that has left nothing, nothing is kept")
{
    Machine machine;
    {
        Receipt receipt;
        (void)machine.server->execute(command("exit 3"), {}, {}, &receipt);
        receipt.decline();
    }
    CHECK(machine.jobs() == 0);
    // And the connection serves the next call.
    CHECK(machine.server->execute(command("exit 4"), {}, {}, nullptr).exit_code == 4);
}
