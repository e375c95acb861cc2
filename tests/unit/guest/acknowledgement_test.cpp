#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>

using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::test::GuestServer;
using berth::test::Peer;
using berth::tests::becomes_true;

namespace {

/// Answers every request, and counts what became of the answers. Of operation 1 each awaits its
/// acknowledgement.
struct Answering {
    std::atomic<int> acknowledged = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<int> gone = 0;
    GuestServer server{[this](const std::shared_ptr<Call>& call, const Frame& request) {
        call->on_cancel([this] { ++cancelled; });
        if (request.operation == 1) {
            call->on_acknowledged([this] { ++acknowledged; });
            call->on_gone([this] { ++gone; });
        }
        call->reply("answer");
    }};

    /// One that has an answer.
    Peer answered()
    {
        auto peer = Peer::greeted(server);
        ask(peer);
        return peer;
    }

    static void ask(Peer& peer, std::uint16_t operation = 1)
    {
        peer.send(FrameType::request, "", operation);
        const auto reply = peer.receive();
        REQUIRE(reply.has_value());
        CHECK(reply->payload == "answer");
    }
};

} // namespace

TEST_CASE("an answer is acknowledged by its frame or by the next request, and once")
{
    Answering guest;
    auto peer = guest.answered();
    CHECK(guest.acknowledged == 0);
    peer.send_bytes(std::string("\0\0\0\0\x09\0\0\0", 8));
    CHECK(becomes_true([&] { return guest.acknowledged == 1; }));
    peer.send(FrameType::acknowledge, "");
    Answering::ask(peer);
    CHECK(guest.acknowledged == 1);
    Answering::ask(peer, 2);
    CHECK(guest.acknowledged == 2);
    peer.send(FrameType::acknowledge, "");
    Answering::ask(peer, 2);
    peer.close();
    REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
    CHECK(guest.acknowledged == 2);
    CHECK(guest.gone == 0);
}

TEST_CASE("a connection that ends without has not had its answer")
{
    Answering guest;
    auto peer = guest.answered();
    SUBCASE("by its end")
    {
        peer.close();
    }
    SUBCASE("by half an acknowledgement")
    {
        peer.send_bytes(std::string("\0\0\0\0\x09", 5));
        peer.close();
    }
    SUBCASE("by what no host sends")
    {
        peer.send_bytes(std::string("\0\0\0\0\x63\0\0\0", 8));
    }
    CHECK(becomes_true([&] { return guest.gone == 1; }));
    CHECK(guest.acknowledged == 0);
}

TEST_CASE("an acknowledgement is the last word of a connection that is closed behind it")
{
    Answering guest;
    auto peer = guest.answered();
    std::promise<void> closed;
    guest.server.loop().post([&] { closed.get_future().wait(); }); // both are found at once
    peer.send(FrameType::acknowledge, "");
    peer.close();
    closed.set_value();
    CHECK(becomes_true([&] { return guest.server.connections() == 0; }));
    CHECK(guest.acknowledged == 1);
    CHECK(guest.gone == 0);
}

TEST_CASE("a cancel behind an answer that awaits its acknowledgement is heard, once")
{
    Answering guest;
    auto peer = guest.answered();
    peer.send(FrameType::cancel, "");
    peer.send(FrameType::cancel, ""); // the host's two threads may both have sent one
    Answering::ask(peer, 2);
    CHECK(guest.cancelled == 1);
    CHECK(guest.acknowledged == 1);
    peer.send(FrameType::cancel, ""); // that answer awaits none
    Answering::ask(peer);
    peer.send(FrameType::acknowledge, "");
    peer.send(FrameType::cancel, "");
    peer.close();
    REQUIRE(becomes_true([&] { return guest.server.connections() == 0; }));
    CHECK(guest.cancelled == 1);
    CHECK(guest.acknowledged == 2);
    CHECK(guest.gone == 0);
}

TEST_CASE("a cancel is the last word of a connection that is closed behind it")
{
    Answering guest;
    auto peer = guest.answered();
    std::promise<void> closed;
    guest.server.loop().post([&] { closed.get_future().wait(); }); // both are found at once
    peer.send(FrameType::cancel, "");
    peer.close();
    closed.set_value();
    CHECK(becomes_true([&] { return guest.server.connections() == 0; }));
    CHECK(guest.cancelled == 1);
    CHECK(guest.gone == 0);
}
