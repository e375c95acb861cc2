#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/real_guest.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

using berth::ErrorCode;
using berth::protocol::OnDisconnect;
using berth::protocol::Terms;
using berth::sandbox::Sandbox;
using berth::test::RealGuest;

namespace {

/// A guest that answers every request with that error.
ErrorCode answer_to(ErrorCode code, Terms& answer)
{
    berth::test::Fixture fixture(
        [code](const std::shared_ptr<berth::guest::Call>& call, const berth::protocol::Frame&) {
            call->fail(std::make_exception_ptr(berth::Error(code, "no")));
        });
    return berth::tests::error_of([&] { answer = fixture.sandbox.change_terms({.calls = 3}); })
        .value_or(ErrorCode::internal);
}

} // namespace

TEST_SUITE("sandbox/change_terms")
{
    TEST_CASE("a guest says what of it holds from now on")
    {
        RealGuest real({.quota = 1024UL * 1024}, std::chrono::hours(1));
        Terms wanted{.calls = 3,
                     .jobs = 4,
                     .quota = 2048UL * 1024,
                     .idle_end = 7200'000,
                     .idle_pause = 5000,
                     .on_disconnect = OnDisconnect::keep};
        CHECK(real.server->change_terms(wanted) == wanted);
        const auto info = real.server->info();
        REQUIRE(info.pause);
        CHECK(info.pause->idle_pause == 5000);
        REQUIRE(info.quota);
        CHECK(info.quota->limit == 2048UL * 1024);
    }

    TEST_CASE("another environment is that of commands from then on, whole, and of no earlier one")
    {
        RealGuest real({}, std::chrono::hours(1));
        const auto prints = [&](const std::string& line) {
            berth::protocol::ExecuteRequest request;
            request.id = berth::random_hex(16);
            request.command = line;
            request.timeout = 60'000;
            request.head_limit = request.tail_limit = 1000;
            return real.server->execute(request, {}).out.head;
        };
        Terms wanted;
        wanted.environment = {{"PATH", "/usr/bin:/bin"}, {"A", "first"}, {"B", "there"}};
        CHECK(real.server->change_terms(wanted).environment == wanted.environment);
        CHECK(prints("echo $A ${B-none}") == "first there\n");
        CHECK(real.server->change_terms({.calls = 3}).environment.empty());
        CHECK(prints("echo $A ${B-none}") == "first there\n"); // nothing was said about it
        wanted.environment = {{"PATH", "/usr/bin:/bin"}, {"A", "second"}};
        (void)real.server->change_terms(wanted);
        CHECK(prints("echo $A ${B-none}") == "second none\n");
    }

    TEST_CASE("what it is not asked for it says nothing of, and keeps")
    {
        RealGuest real({.quota = 1024UL * 1024}, std::chrono::hours(1));
        CHECK(real.server->change_terms({}) == Terms());
        CHECK(real.server->info().quota->limit == 1024UL * 1024);
    }

    TEST_CASE("what cannot change is not in its answer")
    {
        RealGuest real; // no quota, and no end for want of use
        CHECK(real.server->change_terms({.quota = 5, .idle_end = 5}) == Terms());
        CHECK_FALSE(real.server->info().quota);
        RealGuest limited({.quota = 1024UL * 1024}, std::chrono::hours(1));
        CHECK(limited.server->change_terms({.quota = 0, .idle_end = 0}) == Terms());
        CHECK(limited.server->info().quota->limit == 1024UL * 1024);
    }

    TEST_CASE("a number that nobody means does no harm")
    {
        RealGuest real({}, std::chrono::hours(1));
        const auto most = std::uint64_t{0} - 1;
        const auto taken = real.server->change_terms({.idle_end = most, .idle_pause = most});
        CHECK(taken.idle_pause == most);
        real.server->ping();
    }

    TEST_CASE("a guest of an earlier release changes nothing, and that is no error")
    {
        Terms answer{.calls = 9};
        CHECK(answer_to(ErrorCode::unsupported, answer) == ErrorCode::internal); // nothing thrown
        CHECK(answer == Terms());
        CHECK(answer_to(ErrorCode::busy, answer) == ErrorCode::busy);
    }

    TEST_CASE("a machine that nobody uses retires, one with a job or a client does not")
    {
        RealGuest real({}, std::chrono::hours(1));
        berth::protocol::ExecuteRequest job;
        job.id = berth::random_hex(16);
        job.command = "sleep 60";
        job.timeout = 60'000;
        job.background = true;
        const auto id = real.server->execute(job, {}).job_id;
        Sandbox other(real.backend->attach(real.record), real.token);
        CHECK_FALSE(other.retire());        // a client, and a job
        CHECK_FALSE(real.server->retire()); // a job
        real.server.reset();
        CHECK_FALSE(other.retire()); // a job
        {
            Sandbox worker(real.backend->attach(real.record), real.token);
            berth::protocol::JobKillRequest kill;
            kill.job_id = id;
            kill.signal = 9;
            (void)worker.job_kill(kill, {});
        }
        CHECK(berth::tests::becomes_true([&] { return other.retire(); }));
        CHECK(berth::tests::becomes_true([&] { return !real.backend->attach(real.record); }));
    }

    TEST_CASE("to its machine the server that asks is no client, another is")
    {
        RealGuest real({}, std::chrono::hours(1));
        real.server->attend();
        real.server->ping();
        {
            Sandbox other(real.backend->attach(real.record), real.token);
            other.attend();
            other.ping();
            CHECK_FALSE(real.server->retire());
            real.server->ping(); // nothing has changed for who was refused
        }
        CHECK(berth::tests::becomes_true([&] { return real.server->retire(); }));
        CHECK(berth::tests::becomes_true([&] { return !real.backend->attach(real.record); }));
    }

    TEST_CASE("a machine that is left retires with its jobs, not with another client's")
    {
        RealGuest real({}, std::chrono::hours(1));
        auto job = berth::test::command("sleep 60");
        job.background = true;
        Sandbox other(real.backend->attach(real.record), real.token);
        (void)other.execute(job, {});
        CHECK_FALSE(real.server->retire(/*with_jobs=*/true)); // a client
        CHECK_FALSE(other.retire());                          // a job
        CHECK(other.retire(/*with_jobs=*/true));
        CHECK(berth::tests::becomes_true([&] { return !real.backend->attach(real.record); }));
    }

    TEST_CASE("a guest of an earlier release does not retire")
    {
        berth::test::Fixture fixture(
            [](const std::shared_ptr<berth::guest::Call>& call, const berth::protocol::Frame&) {
                call->fail(std::make_exception_ptr(berth::Error(ErrorCode::unsupported, "no")));
            });
        CHECK_FALSE(fixture.sandbox.retire());
    }
}
