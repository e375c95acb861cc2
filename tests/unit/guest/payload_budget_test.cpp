#include "sandbox/guest/payload_budget.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::test::GuestServer;
using berth::test::Peer;
using berth::tests::becomes_true;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t room = 2UL * 1024 * 1024;
constexpr std::size_t large = 900UL * 1024; // twice it is room's worth: one at a time

/// Calls that have come and are not answered yet.
class Held {
  public:
    berth::guest::Server::Handler take()
    {
        return [this](const std::shared_ptr<Call>& call, const Frame& request) {
            if (request.operation == answered_at_once) {
                call->reply(std::to_string(request.payload.size()));
                return;
            }
            const std::lock_guard lock(mutex_);
            calls_.push_back(call);
            sizes_.push_back(request.payload.size());
        };
    }

    std::size_t count()
    {
        const std::lock_guard lock(mutex_);
        return sizes_.size();
    }

    std::vector<std::size_t> sizes()
    {
        const std::lock_guard lock(mutex_);
        return sizes_;
    }

    void answer_one()
    {
        const std::lock_guard lock(mutex_);
        calls_.front()->reply("done");
        calls_.erase(calls_.begin());
    }

    static constexpr std::uint16_t answered_at_once = 7;

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<Call>> calls_;
    std::vector<std::size_t> sizes_;
};

/// A request of this size. Its place in the line is that of its header; the rest is sent on a
/// thread, for the guest may not read it.
class Request {
  public:
    Request(const GuestServer& server, std::size_t size, std::uint16_t operation = 1)
        : peer_(Peer::greeted(server))
    {
        std::string header;
        berth::protocol::put_header(header, FrameType::request, size, operation);
        peer_.send_bytes(header);
        sender_ = std::jthread([this, size] { peer_.send_bytes(std::string(size, 'x')); });
    }

    /// A failed test must not wait for what the guest does not read.
    ~Request() { break_off(); }

    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /// What the guest has not read is thrown away.
    void break_off() { peer_.shut_down(); }

    std::string answer()
    {
        const auto reply = peer_.receive();
        return reply ? reply->payload : "no reply";
    }

  private:
    Peer peer_;
    std::jthread sender_;
};

} // namespace

TEST_CASE("large requests wait for room, in order, and none of them is lost")
{
    Held held;
    GuestServer server(held.take(), {.room = room});
    std::vector<std::unique_ptr<Request>> requests;
    for (std::size_t i = 0; i < 4; ++i) {
        requests.push_back(std::make_unique<Request>(server, large + i));
    }
    CHECK(becomes_true([&] { return held.count() == 1; }));
    SUBCASE("while small ones pass")
    {
        auto other = Peer::greeted(server);
        other.send(FrameType::request, std::string(200UL * 1024, 'x'), Held::answered_at_once);
        const auto reply = other.receive();
        REQUIRE(reply.has_value());
        CHECK(reply->payload == "204800");
    }
    CHECK(held.count() == 1);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(becomes_true([&] { return held.count() == i + 1; }));
        std::this_thread::sleep_for(20ms);
        CHECK(held.count() == i + 1);
        held.answer_one();
        CHECK(requests[i]->answer() == "done");
    }
    CHECK(held.sizes() == std::vector{large, large + 1, large + 2, large + 3});
}

TEST_CASE("a request that is larger than all the room gets all of it")
{
    Held held;
    GuestServer server(held.take(), {.room = room});
    Request first(server, large);
    Request giant(server, 4 * room);
    Request last(server, large);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(becomes_true([&] { return held.count() == i + 1; }));
        held.answer_one();
    }
    CHECK(first.answer() == "done");
    CHECK(giant.answer() == "done");
    CHECK(last.answer() == "done");
    CHECK(held.sizes() == std::vector{large, 4 * room, large});
}

TEST_CASE("a connection that ends gives back its place in the line")
{
    Held held;
    GuestServer server(held.take(), {.room = room});
    Request first(server, large);
    CHECK(becomes_true([&] { return held.count() == 1; }));
    Request gone(server, 2 * large);
    Request last(server, large);
    CHECK(server.connections() == 3);
    gone.break_off();
    CHECK(becomes_true([&] { return server.connections() == 2; }));
    held.answer_one();
    CHECK(first.answer() == "done");
    CHECK(becomes_true([&] { return held.count() == 2; }));
    held.answer_one();
    CHECK(last.answer() == "done");
}

TEST_CASE("a connection that ends in the middle of a large request gives back its room")
{
    Held held;
    GuestServer server(held.take(), {.room = room});
    auto half = Peer::greeted(server);
    std::string bytes;
    berth::protocol::put_header(bytes, FrameType::request, large, 1);
    half.send_bytes(bytes + std::string(1000, 'x'));
    std::this_thread::sleep_for(30ms);
    Request next(server, large);
    std::this_thread::sleep_for(100ms); // enough for one that need not wait
    CHECK(held.count() == 0);
    half.close();
    CHECK(becomes_true([&] { return held.count() == 1; }));
    held.answer_one();
    CHECK(next.answer() == "done");
}

TEST_CASE("a host that falls silent in the middle of a large request keeps its room for a time")
{
    Held held;
    GuestServer server(held.take(), {.room = room, .patience = 1s});
    auto slow = Peer::greeted(server);
    std::string bytes;
    berth::protocol::put_header(bytes, FrameType::request, large, 1);
    slow.send_bytes(bytes);
    Request next(server, large);
    // Slow is not silent.
    constexpr std::size_t piece = large / 10;
    for (int i = 0; i < 9; ++i) {
        std::this_thread::sleep_for(150ms);
        slow.send_bytes(std::string(piece, 'x'));
    }
    CHECK(held.count() == 0);
    CHECK(server.connections() == 2);
    SUBCASE("and is closed then")
    {
        CHECK(becomes_true([&] { return held.count() == 1; }));
        CHECK(server.connections() == 1);
        held.answer_one();
        CHECK(next.answer() == "done");
    }
    SUBCASE("and has all the time it needs once the request is there")
    {
        slow.send_bytes(std::string(large - 9 * piece, 'x'));
        CHECK(becomes_true([&] { return held.count() == 1; }));
        std::this_thread::sleep_for(1500ms);
        CHECK(held.sizes() == std::vector{large});
        held.answer_one();
        CHECK(becomes_true([&] { return held.count() == 2; }));
        held.answer_one();
        CHECK(next.answer() == "done");
        const auto reply = slow.receive();
        REQUIRE(reply.has_value());
        CHECK(reply->payload == "done");
    }
}

TEST_CASE("an edit has room for the texts it makes of its request")
{
    Held held;
    GuestServer server(held.take(), {.room = 4 * large});
    const auto edit = static_cast<std::uint16_t>(berth::protocol::Operation::edit_file);
    SUBCASE("two other requests fit")
    {
        const Request first(server, large);
        const Request second(server, large);
        CHECK(becomes_true([&] { return held.count() == 2; }));
    }
    SUBCASE("one edit fills all of it")
    {
        const Request first(server, large, edit);
        CHECK(becomes_true([&] { return held.count() == 1; }));
        const Request second(server, large);
        std::this_thread::sleep_for(100ms);
        CHECK(held.count() == 1);
    }
}
