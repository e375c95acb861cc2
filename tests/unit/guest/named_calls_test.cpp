#include "sandbox/base/error.hpp"
#include "sandbox/guest/call.hpp"
#include "sandbox/guest/named_calls.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/guest/held_calls.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using berth::guest::Call;
using berth::protocol::CallName;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::protocol::Operation;
using berth::test::good_hello;
using berth::test::GuestServer;
using berth::test::Peer;
using berth::tests::becomes_true;

using berth::test::asking;
using berth::test::executing;
using berth::test::HeldCalls;
using berth::test::importing;
using berth::test::name;
using berth::test::named;
using berth::test::payload_of;
using berth::test::recalling;
using berth::test::text;
using berth::test::writing;

namespace {

using Guest = HeldCalls;

std::string code_of(Peer& peer)
{
    return peer.receive_error();
}

} // namespace

TEST_SUITE("guest/named_calls")
{
    TEST_CASE("a call that has ended is answered again, and not run again")
    {
        Guest guest;
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("x"), name('a')), writing);
        CHECK(payload_of(first) == "answer 1");
        first.close();
        auto second = guest.greeted("one");
        second.send(FrameType::request, named(text("x"), name('a')), writing);
        CHECK(payload_of(second) == "answer 1");
        CHECK(guest.begun == 1);
        second.close();
        auto third = guest.greeted("two"); // by whoever knows its name
        third.send(FrameType::request, berth::protocol::encode(CallName{.name = name('a')}),
                   recalling);
        CHECK(payload_of(third) == "answer 1");
        CHECK(guest.begun == 1);
    }

    TEST_CASE("one that runs is answered where it was asked for last")
    {
        Guest guest;
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("hold"), name('a')), writing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        auto second = guest.greeted("one");
        auto third = guest.greeted("one");
        SUBCASE("the first connection has ended")
        {
            first.close();
            second.send(FrameType::request, named(text("hold"), name('a')), writing);
        }
        SUBCASE("it is half open")
        {
            second.send(FrameType::request, named(text("hold"), name('a')), writing);
            CHECK_FALSE(first.receive().has_value()); // closed
        }
        SUBCASE("two ask at once")
        {
            second.send(FrameType::request, named(text("hold"), name('a')), writing);
            third.send(FrameType::request, named(text("hold"), name('a')), writing);
            // One of the two has it, the other one was closed; a last one takes its place.
            second = guest.greeted("one");
            second.send(FrameType::request, named(text("hold"), name('a')), writing);
            CHECK_FALSE(third.receive().has_value());
        }
        SUBCASE("its answer is asked for alone")
        {
            second.send(FrameType::request, berth::protocol::encode(CallName{.name = name('a')}),
                        recalling);
            CHECK_FALSE(first.receive().has_value());
        }
        // A reply between the two would be lost if it went to the connection that is gone.
        REQUIRE(becomes_true([&] { return guest.server.connections() <= 2; }));
        guest.answer("done");
        CHECK(payload_of(second) == "done");
        CHECK(guest.begun == 1);
        CHECK(guest.gone == 0);
    }

    TEST_CASE("one that ended meanwhile, and whose answer had to go, is told as that")
    {
        Guest guest;
        {
            auto first = guest.greeted("s");
            first.send(FrameType::request, named(text("hold"), name('a')), writing);
            CHECK(becomes_true([&] { return guest.begun == 1; }));
        }
        CHECK(becomes_true([&] { return guest.server.connections() == 0; }));
        guest.answer(std::string(5UL * 1024 * 1024, 'x')); // more than is kept
        auto again = guest.greeted("s");
        again.send(FrameType::request, named(text("hold"), name('a')), writing);
        CHECK(code_of(again) == "conflict");
        CHECK(guest.begun == 1);
    }

    TEST_CASE("a cancel reaches a call that was taken over")
    {
        Guest guest;
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("hold"), name('a')), writing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        first.close();
        auto second = guest.greeted("one");
        second.send(FrameType::request, named(text("hold"), name('a')), writing);
        second.send(FrameType::cancel, "");
        CHECK(becomes_true([&] { return guest.cancelled == 1; }));
        guest.answer("cancelled");
        CHECK(payload_of(second) == "cancelled");
    }

    TEST_CASE("what has been seen is not kept, and never run again")
    {
        Guest guest;
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("x"), name('a')), executing);
        CHECK(payload_of(first) == "answer 1");
        SUBCASE("by its acknowledgement")
        {
            first.send(FrameType::acknowledge, "");
        }
        SUBCASE("by the next request")
        {
            first.send(FrameType::request, "", asking);
            CHECK(payload_of(first) == "answer 2");
        }
        SUBCASE("by a cancel in its place")
        {
            first.send(FrameType::cancel, "");
        }
        REQUIRE(becomes_true([&] { return guest.acknowledged == 1; }));
        const int before = guest.begun;
        auto second = guest.greeted("one");
        second.send(FrameType::request, named(text("x"), name('a')), executing);
        CHECK(code_of(second) == "conflict");
        CHECK(guest.begun == before);
    }

    TEST_CASE("an answer that awaits its acknowledgement awaits it where it was sent again")
    {
        for (const bool ends : {true, false}) {
            for (const bool acknowledges : {true, false}) {
                CAPTURE(ends);
                CAPTURE(acknowledges);
                Guest guest;
                auto first = guest.greeted("one");
                first.send(FrameType::request, named(text("x"), name('a')), executing);
                CHECK(payload_of(first) == "answer 1");
                if (ends) { // for that time it is gone
                    first.close();
                    REQUIRE(becomes_true([&] { return guest.gone == 1; }));
                }
                const int before = guest.gone;
                auto second = guest.greeted("one");
                second.send(FrameType::request, named(text("x"), name('a')), executing);
                CHECK(payload_of(second) == "answer 1");
                CHECK(guest.gone == before);
                if (acknowledges) {
                    second.send(FrameType::acknowledge, "");
                    CHECK(becomes_true([&] { return guest.acknowledged == 1; }));
                }
                second.close();
                CHECK(becomes_true([&] { return guest.server.connections() == 0; }));
                CHECK(guest.gone == before + (acknowledges ? 0 : 1));
                CHECK(guest.acknowledged == (acknowledges ? 1 : 0));
            }
        }
    }

    TEST_CASE("another request under a name is refused, and so is what is no name")
    {
        Guest guest;
        auto peer = guest.greeted("one");
        peer.send(FrameType::request, named(text("x"), name('a')), writing);
        CHECK(payload_of(peer) == "answer 1");
        auto other = guest.greeted("one");
        other.send(FrameType::request, named(text("y"), name('a')), writing);
        CHECK(code_of(other) == "invalid_argument");
        other.send(FrameType::request, named(text("x"), name('a')), executing);
        CHECK(code_of(other) == "invalid_argument");
        other.send(FrameType::request, named(text("x"), "a"), writing);
        CHECK(code_of(other) == "invalid_argument");
        other.send(FrameType::request, named(text("x"), name('G')), writing);
        CHECK(code_of(other) == "invalid_argument");
        other.send(FrameType::request, "", recalling);
        CHECK(code_of(other) == "invalid_argument");
        CHECK(guest.begun == 1);
    }

    TEST_CASE("a call without a name, or one that only reads, is made each time")
    {
        Guest guest;
        auto peer = guest.greeted("one");
        for (int i = 1; i <= 2; ++i) {
            peer.send(FrameType::request, text("x"), writing);
            CHECK(payload_of(peer) == "answer " + std::to_string(i));
        }
        peer.send(FrameType::request, named(text("x"), name('a')),
                  static_cast<std::uint16_t>(Operation::read_file));
        CHECK(payload_of(peer) == "answer 3");
        peer.send(FrameType::request, named(text("x"), name('a')),
                  static_cast<std::uint16_t>(Operation::read_file));
        CHECK(payload_of(peer) == "answer 4");
    }

    TEST_CASE("no call begins that could not be told from its repetition later")
    {
        berth::guest::EventLoop loop;
        berth::guest::NamedCalls calls(loop, {.book = {.names = 1, .most_remembered = 1}});
        const auto take = [&](char digit) {
            const auto call =
                std::make_shared<Call>(loop, std::weak_ptr<berth::guest::Connection>());
            Frame request;
            request.operation = writing;
            request.payload = named(text("x"), name(digit));
            return calls.take(call, request); // and it is over
        };
        CHECK_FALSE(take('a'));
        CHECK_FALSE(take('b')); // for which "a" is the one that is remembered
        CHECK(berth::tests::error_of([&] { (void)take('c'); }) == berth::ErrorCode::busy);
        CHECK(berth::tests::error_of([&] { (void)take('a'); }) == berth::ErrorCode::conflict);
    }

    TEST_CASE("a call that never came is told apart from one that failed")
    {
        Guest guest;
        auto peer = guest.greeted("one");
        peer.send(FrameType::request, berth::protocol::encode(CallName{.name = name('b')}),
                  recalling);
        const auto frame = peer.receive();
        REQUIRE(frame.has_value());
        const auto error = berth::protocol::decode<berth::protocol::ErrorMessage>(frame->payload);
        CHECK(error.code == "not_found");
        CHECK(error.details.contains(berth::protocol::unknown_call));
    }

    TEST_CASE("a call that was told as not come is not made when it comes late")
    {
        Guest guest;
        auto peer = guest.greeted("one");
        peer.send(FrameType::request, berth::protocol::encode(CallName{.name = name('b')}),
                  recalling);
        CHECK(code_of(peer) == "not_found");
        auto late = guest.greeted("one"); // what stood on the way has passed it on now
        late.send(FrameType::request, named(text("x"), name('b')), writing);
        CHECK(code_of(late) == "invalid_argument");
        auto hello = good_hello();
        hello.server = "one";
        hello.declined = {name('c')}; // nobody wants it any more
        auto other = guest.server.connect();
        Peer declining(std::move(other));
        declining.send(FrameType::hello, berth::protocol::encode(hello));
        REQUIRE(declining.receive().has_value());
        declining.send(FrameType::request, named(text("x"), name('c')), writing);
        CHECK(code_of(declining) == "invalid_argument");
        CHECK(guest.begun == 0);
    }

    TEST_CASE("data that was cut off is waited for by nobody; a repetition's is passed over")
    {
        Guest guest;
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("hold"), name('a')), importing);
        first.send(FrameType::data, "half");
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        SUBCASE("its connection has ended")
        {
            first.close();
            CHECK(becomes_true([&] { return guest.cancelled == 1; }));
        }
        SUBCASE("it is half open") {}
        auto second = guest.greeted("one");
        second.send(FrameType::request, named(text("hold"), name('a')), importing);
        second.send(FrameType::data, "whole");
        second.send(FrameType::data, "", 0, berth::protocol::flag_last);
        CHECK(becomes_true([&] { return guest.cancelled >= 1; }));
        guest.answer("broken off");
        CHECK(payload_of(second) == "broken off");
        second.send(FrameType::request, text("x"), writing);
        CHECK(payload_of(second) == "answer 2");
        auto third = guest.greeted("one");
        third.send(FrameType::request, named(text("hold"), name('a')), importing);
        third.send(FrameType::data, "", 0, berth::protocol::flag_last);
        CHECK(code_of(third) == "conflict"); // it was seen
        third.send(FrameType::request, text("x"), writing);
        CHECK(payload_of(third) == "answer 3");
    }

    TEST_CASE("a call whose server is gone waits for no repetition")
    {
        Guest guest;
        auto stays = guest.greeted("one", /*stays=*/true);
        auto other = guest.greeted("two", /*stays=*/true);
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("hold"), name('a')), writing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        first.close();
        REQUIRE(becomes_true([&] { return guest.server.connections() == 2; }));
        other.send(FrameType::request, "", asking);
        CHECK(payload_of(other) == "answer 2");
        CHECK(guest.gone == 0); // its server is there, and may come back for it
        stays.close();
        CHECK(becomes_true([&] { return guest.gone == 1; }));
        guest.answer("too late");
        other.send(FrameType::request, berth::protocol::encode(CallName{.name = name('a')}),
                   recalling);
        CHECK(payload_of(other) == "too late"); // and is known all the same
    }

    TEST_CASE("nor does one whose server has never said that it stays, once somebody looks")
    {
        Guest guest;
        auto other = guest.greeted("two");
        auto first = guest.greeted("one");
        first.send(FrameType::request, named(text("hold"), name('a')), writing);
        REQUIRE(becomes_true([&] { return guest.begun == 1; }));
        first.close();
        REQUIRE(becomes_true([&] { return guest.server.connections() == 1; }));
        CHECK(guest.gone == 0);
        other.send(FrameType::request, "", asking);
        CHECK(payload_of(other) == "answer 2");
        CHECK(guest.gone == 1);
        guest.answer("x");
    }

    TEST_CASE("not more than 64 wait for their repetition")
    {
        Guest guest;
        const auto stays = guest.greeted("one", /*stays=*/true);
        for (int i = 0; i < 66; ++i) {
            auto peer = guest.greeted("one");
            auto which = name('0');
            which.replace(0, 2, {static_cast<char>('a' + i / 16), "0123456789abcdef"[i % 16]});
            peer.send(FrameType::request, named(text("hold"), which), writing);
            REQUIRE(becomes_true([&] { return guest.begun == i + 1; }));
            peer.close();
            REQUIRE(becomes_true([&] { return guest.server.connections() == 1; }));
        }
        CHECK(guest.gone == 2);
        guest.answer("x");
    }
}
