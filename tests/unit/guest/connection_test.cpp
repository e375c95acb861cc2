#include "sandbox/base/error.hpp"
#include "sandbox/guest/connection.hpp"
#include "sandbox/guest/pause/call_book.hpp"
#include "sandbox/guest/workers.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using berth::tests::becomes_true;
using namespace std::chrono_literals;
using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::test::good_hello;
using berth::test::GuestServer;
using berth::test::Peer;

namespace {

void echo(const std::shared_ptr<Call>& call, const Frame& request)
{
    call->reply(request.payload);
}

std::string hello_error(const berth::protocol::Hello& hello)
{
    const GuestServer server(echo);
    Peer peer(server.connect());
    peer.send(FrameType::hello, berth::protocol::encode(hello));
    auto code = peer.receive_error();
    CHECK_FALSE(peer.receive().has_value());
    return code;
}

/// Sends bytes, expects an error frame and the end, and then that the guest serves another.
void check_survives(std::string_view bytes, bool after_hello)
{
    const GuestServer server(echo);
    auto peer = after_hello ? Peer::greeted(server) : Peer(server.connect());
    peer.send_bytes(bytes);
    CHECK(peer.receive_error() == "invalid_argument");
    CHECK_FALSE(peer.receive().has_value());
    auto other = Peer::greeted(server);
    other.send(FrameType::request, "hi", 1);
    const auto reply = other.receive();
    REQUIRE(reply.has_value());
    CHECK(reply->payload == "hi");
}

} // namespace

TEST_CASE("hello: the right one is answered with the version in force, others are refused")
{
    const GuestServer server(echo);
    Peer peer(server.connect());
    auto hello = good_hello();
    hello.newest = 900;
    peer.send(FrameType::hello, berth::protocol::encode(hello));
    const auto frame = peer.receive();
    REQUIRE(frame.has_value());
    const auto reply = berth::protocol::decode<berth::protocol::HelloReply>(frame->payload);
    CHECK(reply.version == berth::protocol::protocol_version);
    CHECK(reply.generation == "g1");
    CHECK(reply.pid == ::getpid());

    auto wrong = good_hello();
    wrong.token = "secreu";
    CHECK(hello_error(wrong) == "authentication_required");
    wrong.token.clear();
    CHECK(hello_error(wrong) == "authentication_required");
    wrong.token = "secret2";
    CHECK(hello_error(wrong) == "authentication_required");
    wrong = good_hello();
    wrong.generation = "g0";
    CHECK(hello_error(wrong) == "session_lost");
    wrong = good_hello();
    wrong.oldest = 2;
    wrong.newest = 3;
    CHECK(hello_error(wrong) == "unsupported");
    wrong.oldest = 0;
    wrong.newest = 0;
    CHECK(hello_error(wrong) == "unsupported");
}

TEST_CASE("hostile bytes end their connection and nothing else")
{
    std::string bytes;
    SUBCASE("not frames at all")
    {
        check_survives("GET / HTTP/1.1\r\n\r\n", false);
    }
    SUBCASE("a hello above its limit")
    {
        put_frame(bytes, FrameType::hello, std::string(5000, 'x'));
        check_survives(bytes, false);
    }
    SUBCASE("a hello that is none")
    {
        put_frame(bytes, FrameType::hello, "\x0a\xff");
        check_survives(bytes, false);
    }
    SUBCASE("a request before the hello")
    {
        put_frame(bytes, FrameType::request, "", 1);
        check_survives(bytes, false);
    }
    SUBCASE("a payload above the limit")
    {
        check_survives(std::string("\x01\x00\x00\x04\x03\x00\x01\x00", 8), true);
    }
    SUBCASE("a second hello")
    {
        put_frame(bytes, FrameType::hello, berth::protocol::encode(good_hello()));
        check_survives(bytes, true);
    }
    SUBCASE("a frame of the guest's")
    {
        put_frame(bytes, FrameType::reply, "");
        check_survives(bytes, true);
    }
    SUBCASE("the header of a large frame that is no request")
    {
        berth::protocol::put_header(bytes, FrameType::data, 10'000'000);
        check_survives(bytes, true);
    }
    SUBCASE("data without a call")
    {
        put_frame(bytes, FrameType::data, "x");
        check_survives(bytes, true);
    }
    SUBCASE("an unknown type")
    {
        check_survives(std::string("\0\0\0\0\x63\0\0\0", 8), true);
    }
}

TEST_CASE("one call at a time: a second request is a violation, and the first learns of it")
{
    std::atomic<bool> gone = false;
    std::vector<std::shared_ptr<Call>> calls;
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        calls.push_back(call);
        call->on_gone([&] { gone = true; });
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    peer.send(FrameType::request, "", 1);
    CHECK(peer.receive_error() == "invalid_argument");
    CHECK(gone);
    CHECK(calls.size() == 1);
}

TEST_CASE("calls follow each other, byte by byte too, and a late cancel is ignored")
{
    const GuestServer server(echo);
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "one", 1);
    CHECK(peer.receive()->payload == "one");
    peer.send(FrameType::cancel, "");
    std::string bytes;
    put_frame(bytes, FrameType::request, "two", 1);
    for (const char byte : bytes) {
        peer.send_bytes({&byte, 1});
    }
    CHECK(peer.receive()->payload == "two");
    const std::string large(5'000'000, 'x');
    peer.send(FrameType::request, large, 1);
    CHECK(peer.receive()->payload == large);
}

TEST_CASE("an exception of a handler is the call's answer, and the connection goes on")
{
    const GuestServer server([](const std::shared_ptr<Call>& call, const Frame& request) {
        switch (request.operation) {
        case 1:
            throw berth::Error(berth::ErrorCode::not_found, "no", "look").with_detail("k", "v");
        case 2:
            throw berth::protocol::WireError("bad");
        case 3:
            throw std::bad_alloc();
        case 4:
            throw 5;
        case 5:
            call->reply(std::string(berth::protocol::max_payload_size + 1, 'x'));
            break;
        default:
            call->reply({});
        }
    });
    auto peer = Peer::greeted(server);
    const auto ask = [&](std::uint16_t operation) {
        peer.send(FrameType::request, "", operation);
        return peer.receive_error();
    };
    peer.send(FrameType::request, "", 1);
    const auto message =
        berth::protocol::decode<berth::protocol::ErrorMessage>(peer.receive()->payload);
    CHECK(message.code == "not_found");
    CHECK(message.hint == "look");
    CHECK(message.details.at("k") == "v");
    CHECK(ask(2) == "invalid_argument");
    CHECK(ask(3) == "too_large");
    CHECK(ask(4) == "internal");
    CHECK(ask(5) == "too_large");
}

TEST_CASE("cancel reaches an operation that is running on a worker, and it answers")
{
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        server.workers().run([call] {
            while (!call->stop_token().stop_requested()) {
                std::this_thread::sleep_for(1ms);
            }
            call->fail(std::make_exception_ptr(
                berth::Error(berth::ErrorCode::cancelled, "the call was cancelled")));
        });
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    peer.send(FrameType::cancel, "");
    CHECK(peer.receive_error() == "cancelled");
    peer.send(FrameType::request, "", 1);
    peer.send(FrameType::cancel, "");
    CHECK(peer.receive_error() == "cancelled");
}

TEST_CASE("a peer that closes stops its call")
{
    std::atomic<bool> stopped = false;
    std::atomic<bool> gone = false;
    std::atomic<bool> started = false;
    std::shared_ptr<Call> kept;
    GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        kept = call;
        call->on_gone([&, token = call->stop_token()] {
            stopped = token.stop_requested();
            gone = true;
        });
        started = true;
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    // A request that is still unread when its peer closes is none.
    REQUIRE(becomes_true([&] { return started.load(); }));
    CHECK(server.connections() == 1);
    peer.close();
    CHECK(becomes_true([&] { return gone.load(); }));
    CHECK(stopped);
    CHECK(server.connections() == 0);
    kept->reply("to nobody");
}

TEST_CASE("data to the host waits for the host, and all of it arrives in order")
{
    constexpr std::size_t total = 64;
    std::atomic<std::size_t> sent = 0;
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        server.workers().run([&, call] {
            for (std::size_t i = 0; i < total; ++i) {
                call->send_data(
                    std::string(berth::protocol::max_data_size, static_cast<char>('a' + i % 26)));
                ++sent;
            }
            call->reply("done");
        });
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    std::this_thread::sleep_for(100ms);
    CHECK(sent >= 4);
    CHECK(sent < 16); // 16 MB are to be sent, about 1 MiB may wait
    for (std::size_t i = 0; i < total; ++i) {
        const auto frame = peer.receive();
        REQUIRE(frame.has_value());
        REQUIRE(frame->type == FrameType::data);
        REQUIRE(frame->payload.size() == berth::protocol::max_data_size);
        REQUIRE(frame->payload.front() == static_cast<char>('a' + i % 26));
    }
    CHECK(peer.receive()->payload == "done");
}

TEST_CASE("a host that does not read is told nothing more, and of a call that is answered nothing")
{
    constexpr std::size_t most = 5000; // 20 MB, which no socket takes
    std::atomic<std::size_t> told = 0;
    std::atomic<bool> refused = false;
    std::shared_ptr<Call> kept;
    GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        kept = call;
        while (told < most && call->tell(std::string(4000, 'x'))) {
            ++told;
        }
        call->reply("done");
        refused = true;
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    REQUIRE(becomes_true([&] { return refused.load(); }));
    CHECK(told > 0);
    CHECK(told < most);
    for (std::size_t i = 0; i < told; ++i) {
        const auto frame = peer.receive();
        REQUIRE(frame.has_value());
        REQUIRE(frame->type == FrameType::event);
        REQUIRE(frame->payload.size() == 4000);
    }
    CHECK(peer.receive()->payload == "done");
    std::atomic<bool> after = true;
    server.loop().post([&] {
        after = kept->tell("late");
        kept.reset();
    });
    CHECK(becomes_true([&] { return !after; }));
}

TEST_CASE("a worker that waits for a host that reads no more is set free when it closes")
{
    std::atomic<bool> freed = false;
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        server.workers().run([&, call] {
            try {
                for (;;) {
                    call->send_data(std::string(100'000, 'x'));
                }
            } catch (const berth::Error& error) {
                freed = error.code() == berth::ErrorCode::cancelled;
            }
        });
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 1);
    std::this_thread::sleep_for(20ms);
    peer.close();
    CHECK(becomes_true([&] { return freed.load(); }));
}

namespace {

/// A server whose only operation takes data when `go` is set.
struct Import {
    std::atomic<bool> go = false;
    std::atomic<std::size_t> taken = 0;
    GuestServer server{[this](const std::shared_ptr<Call>& call, const Frame&) {
        call->accept_data();
        server.workers().run([this, call] {
            while (!go && !call->stop_token().stop_requested()) {
                std::this_thread::sleep_for(1ms);
            }
            try {
                for (auto piece = call->receive_data(); !piece.empty();
                     piece = call->receive_data()) {
                    taken += piece.size();
                }
                call->reply("done");
            } catch (...) {
                call->fail(std::current_exception());
            }
        });
    }};
};

} // namespace

TEST_CASE("data from the host waits for the worker")
{
    constexpr std::size_t total = 64;
    Import import;
    auto peer = Peer::greeted(import.server);
    peer.send(FrameType::request, "", 1);
    std::atomic<std::size_t> sent = 0;
    std::thread host([&] {
        const std::string piece(berth::protocol::max_data_size, 'x');
        for (std::size_t i = 0; i < total; ++i) {
            peer.send(FrameType::data, piece, 0,
                      i + 1 == total ? berth::protocol::flag_last : std::uint8_t{0});
            ++sent;
        }
    });
    std::this_thread::sleep_for(100ms);
    CHECK(sent < 16);
    import.go = true;
    host.join();
    CHECK(peer.receive()->payload == "done");
    CHECK(import.taken == total * berth::protocol::max_data_size);
}

TEST_CASE("an import that is cancelled, and one whose host closes while it is held up")
{
    Import import;
    auto peer = Peer::greeted(import.server);
    peer.send(FrameType::request, "", 1);
    peer.send(FrameType::data, "abc");
    peer.send(FrameType::cancel, "");
    CHECK(peer.receive_error() == "cancelled");

    auto other = Peer::greeted(import.server);
    other.send(FrameType::request, "", 1);
    // As much as is queued before the guest stops reading, and what the socket takes.
    const std::string piece(berth::protocol::max_data_size, 'x');
    for (int i = 0; i < 4; ++i) {
        other.send(FrameType::data, piece);
    }
    other.send(FrameType::data, std::string(50'000, 'x'));
    other.close();
    CHECK(becomes_true([&] { return import.server.connections() == 1; }));
}

TEST_CASE("after an early answer the rest of the data is passed over")
{
    const GuestServer server([](const std::shared_ptr<Call>& call, const Frame& request) {
        if (request.operation == 2) {
            call->accept_data();
            throw berth::Error(berth::ErrorCode::no_space, "full");
        }
        call->reply(request.payload);
    });
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "", 2);
    CHECK(peer.receive_error() == "no_space");
    peer.send(FrameType::data, "abc");
    peer.send(FrameType::data, "", 0, berth::protocol::flag_last);
    peer.send(FrameType::request, "next", 1);
    CHECK(peer.receive()->payload == "next");
    peer.send(FrameType::data, "x");
    CHECK(peer.receive_error() == "invalid_argument");
}

TEST_CASE("silent connections do not keep the host out")
{
    const GuestServer server(echo);
    std::vector<berth::UniqueFd> crowd;
    crowd.reserve(40);
    for (int i = 0; i < 40; ++i) {
        crowd.push_back(server.connect());
    }
    auto peer = Peer::greeted(server);
    peer.send(FrameType::request, "in", 1);
    CHECK(peer.receive()->payload == "in");
    char byte = 0;
    CHECK(::recv(crowd.front().get(), &byte, 1, 0) == 0);
}

TEST_CASE("a call that nobody waits for is in flight no more, though a worker still has it")
{
    std::atomic<int> ended = 0;
    berth::guest::CallBook book([&] { ++ended; });
    std::promise<std::shared_ptr<Call>> held;
    std::shared_ptr<Call> kept;
    const GuestServer server([&](const std::shared_ptr<Call>& call, const Frame&) {
        call->keep_ticket(book.begin("reading a file"));
        held.set_value(call);
    });
    {
        const auto peer = Peer::greeted(server);
        peer.send(FrameType::request, "", 4);
        const auto call = held.get_future().get();
        CHECK(ended == 0);
        kept = call;
    }
    CHECK(becomes_true([&] { return ended == 1; }));
    CHECK(kept); // by whoever works on it
}

TEST_CASE("a guest that is about to end answers what it has, and begins nothing more")
{
    std::atomic<int> begun = 0;
    std::promise<std::shared_ptr<Call>> first;
    GuestServer server([&](const std::shared_ptr<Call>& call, const Frame& /*request*/) {
        if (++begun == 1) {
            first.set_value(call);
        }
    });
    auto early = Peer::greeted(server);
    auto late = Peer::greeted(server);
    early.send(FrameType::request, "one", 1);
    const auto call = first.get_future().get();
    server.stop_reading();
    late.send(FrameType::request, "two", 1);
    call->reply("done");
    const auto reply = early.receive();
    REQUIRE(reply.has_value());
    CHECK(reply->payload == "done");
    CHECK(server.connections() == 2); // the loop has been around
    CHECK(begun == 1);
}
