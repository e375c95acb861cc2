#include "sandbox/base/error.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/leases.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/guest/held_calls.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using berth::guest::EventLoop;
using berth::guest::Leases;
using berth::protocol::FrameType;
using berth::protocol::Hello;
using berth::test::HeldCalls;
using berth::test::Peer;
using berth::tests::becomes_true;
using namespace berth::test;

// Who is here where connections tell nothing of it (docs/adr/0016-e2b-channel.md).

namespace {

constexpr std::uint64_t a_minute = 60'000;

Peer leased(const HeldCalls& guest, const std::string& server, std::uint64_t time = a_minute)
{
    return guest.says(server, [&](Hello& hello) { hello.lease = time; });
}

/// One call on a connection of its own, which ends with the answer.
std::string call_once(const HeldCalls& guest, const HeldCalls::Change& change,
                      const std::string& request, std::uint16_t operation)
{
    auto peer = guest.says("one", change);
    peer.send(FrameType::request, request, operation);
    return payload_of(peer);
}

/// A call of a server's that goes on, and whose connection is gone.
void lose_call(HeldCalls& guest)
{
    auto first = leased(guest, "one");
    first.send(FrameType::request, named(text("hold"), name('a')), executing);
    REQUIRE(becomes_true([&] { return guest.begun == 1; }));
    first.close();
    REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
}

void renew(Hello& hello)
{
    hello.lease = a_minute;
}

} // namespace

TEST_SUITE("guest/leases")
{
    TEST_CASE("a server is here for its time, with a connection or without, and counts once")
    {
        HeldCalls guest;
        CHECK(guest.server.clients() == 0);
        {
            auto peer = leased(guest, "one");
            peer.send(FrameType::request, text("x"), writing);
            CHECK(payload_of(peer) == "answer 1");
            CHECK(guest.server.clients() == 1);
        }
        REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
        CHECK(guest.server.clients() == 1);
        const auto other = leased(guest, "two");
        CHECK(guest.server.clients() == 2);
        const int changes = guest.server.client_changes();
        SUBCASE("it says that it leaves")
        {
            (void)leased(guest, "one", 0);
        }
        SUBCASE("its time is over")
        {
            (void)leased(guest, "one", 1);
        }
        CHECK(becomes_true([&] { return guest.server.clients() == 1; }));
        CHECK(guest.server.client_changes() > changes);
    }

    TEST_CASE("a call waits for its repetition for as long as its server is here")
    {
        HeldCalls guest;
        lose_call(guest);
        SUBCASE("which comes back for it")
        {
            auto second = leased(guest, "one");
            second.send(FrameType::request, named(text("hold"), name('a')), executing);
            guest.answer("the end");
            CHECK(payload_of(second) == "the end");
            CHECK(guest.begun == 1);
            CHECK(guest.gone == 0);
        }
        SUBCASE("which leaves")
        {
            (void)leased(guest, "one", 0);
            CHECK(becomes_true([&] { return guest.gone == 1; }));
            guest.answer("heard by nobody");
        }
        SUBCASE("which cannot ask for it any more")
        {
            (void)guest.says("one", [](Hello& hello) {
                renew(hello);
                hello.given_up = {name('a')};
            });
            CHECK(guest.cancelled == 0);
            CHECK(guest.gone == 1);
        }
        SUBCASE("which does not want it any more")
        {
            (void)guest.says("one", [](Hello& hello) {
                renew(hello);
                hello.declined = {name('a')};
            });
            CHECK(guest.cancelled == 1);
            CHECK(guest.gone == 0); // what it comes to is kept, as its server asks for it
            guest.answer("cancelled");
        }
    }

    TEST_CASE("an error that came too late for its connection is heard of once, or told as gone")
    {
        HeldCalls guest;
        lose_call(guest);
        guest.fail();
        CHECK(guest.gone == 0);
        SUBCASE("its server comes back for it")
        {
            auto second = leased(guest, "one");
            second.send(FrameType::request, named(text("hold"), name('a')), executing);
            CHECK(second.receive_error() == "not_found");
            second.close();
            (void)leased(guest, "one", 0);
            CHECK(becomes_true([&] { return guest.server.clients() == 0; }));
            CHECK(guest.gone == 0);
        }
        SUBCASE("its server leaves")
        {
            (void)leased(guest, "one", 0);
            CHECK(becomes_true([&] { return guest.gone == 1; }));
        }
        CHECK(guest.acknowledged == 0);
        CHECK(guest.cancelled == 0);
    }

    TEST_CASE(
        "a result is acknowledged by its name, and unseen once its server is gone without that")
    {
        HeldCalls guest;
        CHECK(call_once(guest, renew, named(text("x"), name('a')), executing) == "answer 1");
        REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
        CHECK(guest.gone == 0);
        CHECK(guest.acknowledged == 0);
        SUBCASE("with the next call")
        {
            const auto change = [](Hello& hello) {
                renew(hello);
                hello.seen = {name('a'), name('f')};
            };
            CHECK(call_once(guest, change, text("x"), writing) == "answer 2");
            CHECK(guest.acknowledged == 1);
            (void)leased(guest, "one", 0);
            CHECK(becomes_true([&] { return guest.server.clients() == 0; }));
            CHECK(guest.gone == 0);
        }
        SUBCASE("as it leaves")
        {
            (void)guest.says("one", [](Hello& hello) {
                hello.lease = 0;
                hello.seen = {name('a')};
            });
            CHECK(guest.acknowledged == 1);
            CHECK(guest.gone == 0);
        }
        SUBCASE("it never came, and cannot be asked for")
        {
            (void)guest.says("one", [](Hello& hello) {
                renew(hello);
                hello.given_up = {name('a')};
            });
            CHECK(guest.gone == 1);
            CHECK(guest.acknowledged == 0);
        }
        SUBCASE("it was cancelled meanwhile")
        {
            (void)guest.says("one", [](Hello& hello) {
                renew(hello);
                hello.declined = {name('a')};
            });
            CHECK(guest.cancelled == 1);
            CHECK(guest.acknowledged == 1);
        }
        SUBCASE("never")
        {
            (void)leased(guest, "one", 1);
            CHECK(becomes_true([&] { return guest.gone == 1; }));
            CHECK(guest.acknowledged == 0);
        }
        SUBCASE("it is asked for again, and then acknowledged")
        {
            CHECK(call_once(guest, renew, named(text("x"), name('a')), executing) == "answer 1");
            (void)guest.says("one", [](Hello& hello) {
                renew(hello);
                hello.seen = {name('a')};
            });
            CHECK(guest.acknowledged == 1);
            CHECK(guest.begun == 1);
        }
    }

    TEST_CASE("an answer is acknowledged while its own connection hangs")
    {
        HeldCalls guest;
        auto hangs = leased(guest, "one");
        hangs.send(FrameType::request, named(text("x"), name('a')), executing);
        CHECK(payload_of(hangs) == "answer 1");
        (void)guest.says("one", [](Hello& hello) {
            hello.lease = 0;
            hello.seen = {name('a')};
        });
        CHECK(guest.acknowledged == 1);
        CHECK(guest.server.clients() == 0); // it has left, whatever hangs
        REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
        CHECK(guest.gone == 0);
        CHECK(guest.acknowledged == 1);
    }

    TEST_CASE("who leaves is not waited for, whatever carries its calls goes on")
    {
        HeldCalls guest;
        auto first = leased(guest, "one");
        first.send(FrameType::request, named(text("hold"), name('a')), executing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        auto other = leased(guest, "two");
        (void)leased(guest, "one", 0);
        CHECK(becomes_true([&] { return guest.gone == 1; })); // so it goes on as a job
        CHECK(guest.server.clients() == 1);
        other.send(FrameType::request, text("x"), writing);
        CHECK(payload_of(other) == "answer 2");
        guest.answer("heard by nobody");
    }

    TEST_CASE("whose time is over is here for as long as it has a call in progress")
    {
        HeldCalls guest;
        auto first = leased(guest, "one", 1);
        first.send(FrameType::request, named(text("hold"), name('a')), executing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK(guest.server.clients() == 1);
        guest.answer("the end");
        CHECK(payload_of(first) == "the end");
        CHECK(becomes_true([&] { return guest.server.clients() == 0; }));
    }

    TEST_CASE("the time of a server runs from the end of its last call, however long that took")
    {
        HeldCalls guest;
        constexpr std::uint64_t time = 400;
        auto first = leased(guest, "one", time);
        first.send(FrameType::request, named(text("hold"), name('a')), executing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * time));
        guest.answer("the end");
        CHECK(payload_of(first) == "the end");
        first.close();
        REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
        CHECK(guest.server.clients() == 1);
        CHECK(guest.gone == 0);
        SUBCASE("and it says that it had the answer")
        {
            (void)guest.says("one", [](Hello& hello) { hello.seen = {name('a')}; });
            CHECK(guest.acknowledged == 1);
            CHECK(becomes_true([&] { return guest.server.clients() == 0; })); // that renews nothing
            CHECK(guest.gone == 0);
        }
        SUBCASE("or says nothing")
        {
            CHECK(becomes_true([&] { return guest.gone == 1; }));
        }
    }

    TEST_CASE("a lease needs a name, and there is an end to how many there are")
    {
        const HeldCalls guest;
        Peer nobody(guest.server.connect());
        auto hello = good_hello();
        hello.lease = 1;
        nobody.send(FrameType::hello, berth::protocol::encode(hello));
        CHECK(nobody.receive_error() == "invalid_argument");

        EventLoop loop;
        std::vector<std::string> ended;
        Leases leases(loop, [&](const std::string& server) { ended.push_back(server); });
        for (std::size_t i = 0; i < Leases::most; ++i) {
            leases.set(std::to_string(i), std::chrono::minutes(1));
        }
        leases.set("0", std::chrono::hours(24)); // says it again
        CHECK(ended.empty());
        leases.set("x", std::chrono::minutes(1)); // in place of the one that said nothing since
        CHECK(ended == std::vector<std::string>{"1"});
        leases.set("2", std::chrono::milliseconds(0));
        CHECK(ended == std::vector<std::string>{"1", "2"});
        CHECK(leases.count() == Leases::most - 1);
        CHECK(leases.holds("0"));
        CHECK(leases.holds("x"));
    }
}
