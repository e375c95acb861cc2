#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <string>

// What a reply says of outcomes that nobody was told of: to a server that is there while another
// leaves.

namespace berth::test {
namespace {

/// A server that stays, as its hello says.
Peer staying(const GuestServer& server, const std::string& name)
{
    auto hello = good_hello();
    hello.client = true;
    hello.server = name;
    Peer peer(server.connect());
    peer.send(protocol::FrameType::hello, protocol::encode(hello));
    REQUIRE(peer.receive().has_value());
    return peer;
}

bool is_told(Peer& peer)
{
    peer.send(protocol::FrameType::request, "",
              static_cast<std::uint16_t>(protocol::Operation::ping));
    const auto reply = peer.receive();
    REQUIRE(reply.has_value());
    return (reply->flags & protocol::flag_unseen) != 0;
}

} // namespace

TEST_CASE("a reply tells of unseen outcomes after another server has left, until they are told")
{
    GuestServer server(
        [](const auto& call, const protocol::Frame& /*request*/) { call->reply("done"); });
    Peer one = staying(server, "one");
    Peer other = staying(server, "other");
    CHECK_FALSE(is_told(one));
    server.set_unseen(true); // of which nobody has said that it reached nobody
    CHECK_FALSE(is_told(one));
    other.close();
    CHECK(tests::becomes_true([&] { return server.connections() == 1; }));
    CHECK(is_told(one));
    CHECK(is_told(one));
    server.set_unseen(false); // somebody was told
    CHECK_FALSE(is_told(one));
    server.set_unseen(true);
    CHECK_FALSE(is_told(one));
}

TEST_CASE("what comes loose a moment after a server has left is told too")
{
    GuestServer server(
        [](const auto& call, const protocol::Frame& /*request*/) { call->reply("done"); });
    Peer one = staying(server, "one");
    Peer other = staying(server, "other");
    other.close();
    CHECK(tests::becomes_true([&] { return server.connections() == 1; }));
    CHECK_FALSE(is_told(one));
    server.set_unseen(true);
    CHECK(is_told(one));
}

TEST_CASE("a reply tells of what reached nobody while all servers stay")
{
    GuestServer server(
        [](const auto& call, const protocol::Frame& /*request*/) { call->reply("done"); });
    Peer one = staying(server, "one");
    Peer other = staying(server, "other");
    server.set_unseen(true);
    server.note_unseen();
    CHECK(is_told(one));
    CHECK(is_told(other));
    server.set_unseen(false); // somebody was told
    CHECK_FALSE(is_told(one));
}

} // namespace berth::test
