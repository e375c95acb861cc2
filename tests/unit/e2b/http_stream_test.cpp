#include "sandbox/e2b/http.hpp"
#include "tests/unit/e2b/failure_of.hpp"
#include "tests/unit/e2b/loopback_server.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <semaphore>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::e2b::HttpClient;
using berth::e2b::HttpExchange;
using berth::e2b::HttpFailure;
using berth::e2b::HttpRequest;
using berth::e2b::HttpSettings;
using berth::tests::chunk;
using berth::tests::chunked_head;
using berth::tests::failure_of;
using berth::tests::last_chunk;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireConnection;
using berth::tests::WireRequest;

namespace {

using Clock = std::chrono::steady_clock;
using Cause = HttpFailure::Cause;

constexpr std::size_t enough = 1U << 20U;

HttpRequest post(const std::string& body)
{
    return {.method = "POST", .target = "/", .body = body};
}

std::string all_of(HttpExchange& exchange)
{
    return read_rest(exchange, 1U << 30U, soon());
}

} // namespace

TEST_CASE("exchanges that are cut at any moment do no harm to those that come after")
{
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest& request) {
        return chunked_head("x") + chunk(request.body) + std::string(last_chunk);
    }));
    HttpClient client(HttpSettings{});
    for (int i = 0; i < 300; ++i) {
        auto cut = client.open(server.endpoint(), post("cut"));
        std::jthread cutter([&, i] {
            std::this_thread::sleep_for(std::chrono::microseconds(i * 3));
            cut.cut();
        });
        const auto body = "whole " + std::to_string(i);
        CHECK(client.request(server.endpoint(), post(body), enough, soon()).body == body);
    }
}

TEST_CASE("a stream is read as it comes, and can be cut while it is silent")
{
    std::binary_semaphore go(0);
    std::binary_semaphore gone(0);
    LoopbackServer server([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(chunked_head("x") + chunk("one"));
        go.acquire();
        connection.send(chunk("two"));
        connection.wait_for_end();
        gone.release();
    });
    HttpClient client(HttpSettings{});
    auto exchange = client.open(server.endpoint(), post("x"));
    CHECK(exchange.head(soon()).status == 200);
    std::array<char, 100> piece{};
    CHECK(exchange.read(piece.data(), piece.size(), soon()) == 3);
    CHECK(failure_of([&] {
              static_cast<void>(exchange.read(piece.data(), piece.size(), Deadline::after(30ms)));
          }).cause() == Cause::expired);
    go.release();
    CHECK(exchange.read(piece.data(), 2, soon()) == 2);
    CHECK(exchange.read(piece.data(), 2, soon()) == 1);
    std::jthread later([&] {
        std::this_thread::sleep_for(50ms);
        exchange.cut();
    });
    CHECK(failure_of([&] {
              static_cast<void>(exchange.read(piece.data(), piece.size(), soon()));
          }).cause() == Cause::cut);
    CHECK(gone.try_acquire_for(30s));
    CHECK(client.idle() == 0);
}

TEST_CASE("a stream that came to its end leaves its connection for the next")
{
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest&) {
        return chunked_head("x") + chunk("one") + std::string(last_chunk);
    }));
    HttpClient client(HttpSettings{});
    for (int i = 0; i < 3; ++i) {
        auto exchange = client.open(server.endpoint(), post("x"));
        CHECK(exchange.head(soon()).status == 200);
        CHECK(all_of(exchange) == "one");
    }
    CHECK(server.connections() == 1);
}

TEST_CASE("a body goes in pieces, and waits for a server that does not read")
{
    std::binary_semaphore read(0);
    std::string got;
    LoopbackServer server([&](WireConnection& connection) {
        read.acquire();
        if (const auto request = connection.request()) {
            got = request->body;
            connection.send(reply(200, std::to_string(request->body.size())));
        }
    });
    HttpClient client(HttpSettings{});
    auto request = post("");
    request.streamed = true;
    auto exchange = client.open(server.endpoint(), request);
    const std::string piece(1U << 20U, 'p');
    std::size_t sent = 0;
    // The kernel takes some megabytes; that it ends shows that the client does not take more.
    const auto failure = failure_of([&] {
        for (; sent < 200; ++sent) {
            exchange.write(piece, Deadline::after(200ms));
        }
    });
    CHECK(failure.cause() == Cause::expired);
    CHECK(sent < 100);
    read.release();
    exchange.cut();
    CHECK(failure_of([&] { exchange.write("x", soon()); }).cause() == Cause::cut);
}

TEST_CASE("a streamed body arrives whole, to the byte")
{
    std::string got;
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest& request) {
        got = request.body;
        return reply(200, "", "X-Encoding: " + request.header("transfer-encoding") + "\r\n");
    }));
    HttpClient client(HttpSettings{});
    auto request = post("");
    request.streamed = true;
    auto exchange = client.open(server.endpoint(), request);
    std::string whole;
    for (int i = 0; i < 300; ++i) {
        const std::string piece(static_cast<std::size_t>(i) * 37, static_cast<char>(i));
        exchange.write(piece, soon());
        whole += piece;
    }
    exchange.finish();
    const auto head = exchange.head(soon());
    CHECK(head.status == 200);
    CHECK(head.header("x-encoding") == "chunked");
    CHECK(got == whole);
}

TEST_CASE("the client goes while a stream is open, and waits for nobody")
{
    LoopbackServer server([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(chunked_head("x"));
        connection.wait_for_end();
    });
    const auto begin = Clock::now();
    {
        HttpClient client(HttpSettings{});
        auto exchange = client.open(server.endpoint(), post("x"));
        CHECK(exchange.head(soon()).status == 200);
    }
    CHECK(Clock::now() - begin < 10s);
}
