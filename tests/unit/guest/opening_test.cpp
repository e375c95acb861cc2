#include "sandbox/guest/call.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>

using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::test::good_hello;
using berth::test::GuestServer;
using berth::test::Peer;

// Where a connection costs a round trip the host does not wait for the answer to its hello
// (docs/adr/0016-e2b-channel.md).
TEST_CASE("a request that comes with the hello is begun if that was right, and else never")
{
    std::string request;
    SUBCASE("one that comes in the same read")
    {
        request = "hi";
    }
    SUBCASE("one that takes several")
    {
        request.assign(300UL * 1024, 'x');
    }
    std::atomic<int> begun = 0;
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame& frame) {
        ++begun;
        call->reply(frame.payload);
    });
    const auto opening = [&](const std::string& token) {
        auto hello = good_hello();
        hello.token = token;
        std::string bytes;
        berth::protocol::put_frame(bytes, FrameType::hello, berth::protocol::encode(hello));
        berth::protocol::put_frame(bytes, FrameType::request, request, 1);
        return bytes;
    };
    Peer wrong(server.connect());
    wrong.send_bytes(opening("secreu")); // breaks off where the guest closes first
    CHECK(wrong.receive_error() == "authentication_required");
    CHECK_FALSE(wrong.receive().has_value());
    CHECK(begun == 0);

    Peer right(server.connect());
    right.send_bytes(opening("secret"));
    const auto welcome = right.receive();
    REQUIRE(welcome.has_value());
    CHECK(welcome->type == FrameType::hello_reply);
    const auto reply = right.receive();
    REQUIRE(reply.has_value());
    CHECK(reply->type == FrameType::reply);
    CHECK(reply->payload == request);
    CHECK(begun == 1);
}
