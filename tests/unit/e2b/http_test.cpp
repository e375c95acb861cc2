#include "sandbox/base/wait_bound.hpp"
#include "sandbox/e2b/http.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/e2b/failure_of.hpp"
#include "tests/unit/e2b/loopback_server.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::HttpClient;
using berth::e2b::HttpFailure;
using berth::e2b::HttpRequest;
using berth::e2b::HttpSettings;
using berth::tests::becomes_true;
using berth::tests::chunk;
using berth::tests::chunked_head;
using berth::tests::failure_of;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireConnection;
using berth::tests::WireRequest;

namespace {

using Clock = std::chrono::steady_clock;
using Cause = HttpFailure::Cause;

constexpr std::size_t enough = 1U << 20U;

HttpRequest get(const std::string& target = "/")
{
    return {.method = "GET", .target = target};
}

HttpRequest post(const std::string& body)
{
    return {.method = "POST", .target = "/", .body = body};
}

} // namespace

TEST_CASE("a request goes as it is given, and the answer comes whole")
{
    WireRequest seen;
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest& request) {
        seen = request;
        return reply(418, "short and stout", "X-Word: Tea\r\n");
    }));
    HttpClient client(HttpSettings{});
    auto request = post("a body");
    request.target = "/v2/a%2Fb?c=d%25e+%252520f";
    request.headers = {{"X-API-Key", "e2b_0"}, {"Content-Type", "text/x"}};
    const auto answer = client.request(server.endpoint(), request, enough, soon());
    CHECK(answer.status == 418);
    CHECK(answer.body == "short and stout");
    CHECK(answer.header("x-word") == "Tea");
    CHECK(answer.header("x-none").empty());
    CHECK(seen.method == "POST");
    CHECK(seen.target == "/v2/a%2Fb?c=d%25e+%252520f");
    CHECK(seen.body == "a body");
    CHECK(seen.header("x-api-key") == "e2b_0");
    CHECK(seen.header("content-type") == "text/x");
    CHECK(seen.header("host") == "127.0.0.1:" + std::to_string(server.port()));
}

TEST_CASE("the prefix of an endpoint is before every path")
{
    std::string target;
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest& request) {
        target = request.target;
        return reply(204, "");
    }));
    HttpClient client(HttpSettings{});
    auto endpoint = server.endpoint();
    endpoint.prefix = "/below";
    CHECK(client.request(endpoint, get("/x"), enough, soon()).status == 204);
    CHECK(target == "/below/x");
}

TEST_CASE("an answer without a body is one: 204, and one of length 0")
{
    int status = 204;
    LoopbackServer server(LoopbackServer::answering(
        [&](const WireRequest&) { return reply(std::exchange(status, 200), ""); }));
    HttpClient client(HttpSettings{});
    CHECK(client.request(server.endpoint(), get(), enough, soon()).status == 204);
    const auto second = client.request(server.endpoint(), get(), enough, soon());
    CHECK(second.status == 200);
    CHECK(second.body.empty());
    CHECK(server.connections() == 1);
}

TEST_CASE("a connection is used again, and one that its server closed is made anew")
{
    std::binary_semaphore close(0);
    LoopbackServer server([&](WireConnection& connection) {
        for (int i = 0; i < 3; ++i) {
            static_cast<void>(connection.request());
            connection.send(reply(200, "x"));
        }
        close.acquire();
    });
    HttpClient client(HttpSettings{});
    for (int i = 0; i < 3; ++i) {
        CHECK(client.request(server.endpoint(), get(), enough, soon()).status == 200);
    }
    CHECK(server.connections() == 1);
    CHECK(client.idle() == 1);
    close.release(8);
    std::this_thread::sleep_for(50ms); // for the end to come
    CHECK(client.request(server.endpoint(), get(), enough, soon()).status == 200);
    CHECK(server.connections() == 2);
}

TEST_CASE("a connection that its server ends after the answer is not kept")
{
    LoopbackServer server([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(reply(200, "x", "Connection: Close\r\n"));
        connection.wait_for_end();
    });
    HttpClient client(HttpSettings{});
    CHECK(client.request(server.endpoint(), get(), enough, soon()).body == "x");
    CHECK(client.idle() == 0);
    CHECK(client.request(server.endpoint(), get(), enough, soon()).body == "x");
    CHECK(server.connections() == 2);
}

TEST_CASE("of connections that are not used only some are kept, and not for long")
{
    std::counting_semaphore<> begun(0);
    std::counting_semaphore<> answer(0);
    LoopbackServer server([&](WireConnection& connection) {
        while (connection.request()) {
            begun.release();
            answer.acquire();
            connection.send(reply(200, "x"));
        }
    });
    HttpClient client(HttpSettings{.most_idle = 4, .idle = 1s});
    std::vector<std::future<int>> all;
    all.reserve(7);
    for (int i = 0; i < 7; ++i) {
        all.push_back(std::async(std::launch::async, [&] {
            return client.request(server.endpoint(), get(), enough, soon()).status;
        }));
    }
    for (int i = 0; i < 7; ++i) {
        begun.acquire();
    }
    answer.release(7);
    for (auto& each : all) {
        CHECK(each.get() == 200);
    }
    CHECK(server.connections() == 7);
    CHECK(client.idle() <= 4);
    CHECK(client.idle() >= 1);
    CHECK(becomes_true([&] { return client.idle() == 0; }));
}

TEST_CASE("a deadline holds for the whole, however the bytes dribble")
{
    LoopbackServer server([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        for (const char c : reply(200, std::string(500, 'x'))) {
            connection.send({&c, 1});
            std::this_thread::sleep_for(20ms);
        }
    });
    HttpClient client(HttpSettings{});
    const auto begin = Clock::now();
    const auto failure = failure_of([&] {
        static_cast<void>(client.request(server.endpoint(), get(), enough, Deadline::after(300ms)));
    });
    CHECK(failure.cause() == Cause::expired);
    CHECK(failure.code() == ErrorCode::sandbox_unavailable);
    CHECK_FALSE(failure.unsent());
    CHECK(Clock::now() - begin < 5s);
    CHECK(client.idle() == 0);
}

TEST_CASE("a stop request ends a call that waits")
{
    LoopbackServer server([&](WireConnection& connection) { connection.wait_for_end(); });
    HttpClient client(HttpSettings{});
    std::stop_source stop;
    std::jthread later([&] {
        std::this_thread::sleep_for(50ms);
        stop.request_stop();
    });
    auto heard = stop.get_token();
    std::optional<berth::WaitBound> bound;
    SUBCASE("of the call") {}
    SUBCASE("of whoever makes it in the background")
    {
        bound.emplace(std::exchange(heard, {}));
    }
    const auto failure = failure_of([&] {
        static_cast<void>(client.request(server.endpoint(), get(), enough, soon(), heard));
    });
    CHECK(failure.cause() == Cause::cancelled);
    CHECK(failure.code() == ErrorCode::cancelled);
}

TEST_CASE("whoever refuses a connection has had nothing")
{
    std::uint16_t port = 0;
    {
        LoopbackServer gone([](WireConnection&) {});
        port = gone.port();
    }
    HttpClient client(HttpSettings{});
    const berth::e2b::Endpoint endpoint{
        .tls = false, .host = "127.0.0.1", .port = port, .prefix = {}};
    const auto failure =
        failure_of([&] { static_cast<void>(client.request(endpoint, post("x"), enough, soon())); });
    CHECK(failure.cause() == Cause::unconnected);
    CHECK(failure.unsent());
    CHECK(failure.retryable());
    CHECK(std::string(failure.what()).find("127.0.0.1") != std::string::npos);
}

TEST_CASE(
    "a connection that ends before the answer leaves the outcome open, and nothing is sent again")
{
    std::atomic<int> requests = 0;
    bool reset = false;
    SUBCASE("with an end") {}
    SUBCASE("with a reset")
    {
        reset = true;
    }
    LoopbackServer server([&](WireConnection& connection) {
        if (connection.request()) {
            ++requests;
        }
        if (reset) {
            connection.reset();
        }
    });
    HttpClient client(HttpSettings{});
    const auto failure = failure_of([&] {
        static_cast<void>(client.request(server.endpoint(), post("once"), enough, soon()));
    });
    CHECK(failure.cause() == Cause::broken);
    CHECK_FALSE(failure.unsent());
    CHECK_FALSE(failure.retryable());
    CHECK(requests == 1);
    CHECK(client.idle() == 0);
}

TEST_CASE("half a body is a failure, by its length or by its chunks")
{
    std::string answer;
    SUBCASE("by its length")
    {
        answer = reply(200, "0123456789");
        answer.resize(answer.size() - 1);
    }
    SUBCASE("by its chunks")
    {
        answer = chunked_head("x") + chunk("0123456789");
    }
    SUBCASE("within a chunk")
    {
        answer = chunked_head("x") + chunk("0123456789");
        answer.resize(answer.size() - 5);
    }
    LoopbackServer server([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(answer);
    });
    HttpClient client(HttpSettings{});
    const auto failure = failure_of(
        [&] { static_cast<void>(client.request(server.endpoint(), get(), enough, soon())); });
    CHECK(failure.cause() == Cause::broken);
}

TEST_CASE("what answers there is no HTTP")
{
    LoopbackServer server([&](WireConnection& connection) {
        connection.send("220 mail.example ESMTP\r\n\r\n");
        connection.wait_for_end();
    });
    HttpClient client(HttpSettings{});
    CHECK(failure_of([&] {
              static_cast<void>(client.request(server.endpoint(), get(), enough, soon()));
          }).cause() == Cause::broken);
}

TEST_CASE("an answer before the answer is waited out or refused, and not told as the answer")
{
    std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
    LoopbackServer server(LoopbackServer::answering(
        [&](const WireRequest&) { return interim + reply(200, "token"); }));
    HttpClient client(HttpSettings{});
    CHECK(client.request(server.endpoint(), get(), enough, soon()).body == "token");
    interim = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    const auto failure = failure_of(
        [&] { static_cast<void>(client.request(server.endpoint(), get(), enough, soon())); });
    CHECK(failure.cause() == Cause::broken);
    CHECK(std::string(failure.what()).find("103") != std::string::npos);
    CHECK(std::string(failure.what()).find("token") == std::string::npos);
    CHECK(client.idle() == 0);
}

TEST_CASE("an answer above the limit is refused, not kept")
{
    LoopbackServer server(LoopbackServer::answering(
        [&](const WireRequest&) { return reply(200, std::string(1000, 'x')); }));
    HttpClient client(HttpSettings{});
    CHECK(client.request(server.endpoint(), get(), 1000, soon()).body.size() == 1000);
    const auto failure = failure_of(
        [&] { static_cast<void>(client.request(server.endpoint(), get(), 999, soon())); });
    CHECK(failure.cause() == Cause::too_large);
    CHECK(failure.code() == ErrorCode::backend_error);
}

TEST_CASE("a head that would be another request is refused")
{
    HttpClient client(HttpSettings{});
    const berth::e2b::Endpoint nowhere{.tls = false, .host = "127.0.0.1", .port = 9, .prefix = {}};
    auto request = get();
    SUBCASE("a line end in a value")
    {
        request.headers = {{"X-Access-Token", "a\r\nX-Evil: 1"}};
    }
    SUBCASE("a blank in a name")
    {
        request.headers = {{"X Evil", "1"}};
    }
    SUBCASE("a blank in the target")
    {
        request.target = "/a HTTP/1.1";
    }
    SUBCASE("a target of another host")
    {
        request.target = "http://elsewhere/";
    }
    SUBCASE("a byte that is not ASCII")
    {
        request.target = "/\xc3\xa4";
    }
    CHECK(berth::tests::error_of([&] { static_cast<void>(client.open(nowhere, request)); }) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("a value with a line end in it, however it was written, is not believed")
{
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest&) {
        return reply(200, "", "X-Next-Token: a%0d%0aX-Evil: 1\r\nX-Good: b\r\n");
    }));
    HttpClient client(HttpSettings{});
    const auto answer = client.request(server.endpoint(), get(), enough, soon());
    CHECK(answer.header("x-good") == "b");
    CHECK(answer.header("x-next-token").find('\n') == std::string::npos);
}

TEST_CASE("a redirect is an answer, and not followed")
{
    std::atomic<int> requests = 0;
    LoopbackServer server(LoopbackServer::answering([&](const WireRequest&) {
        ++requests;
        return reply(302, "", "Location: /elsewhere\r\n");
    }));
    HttpClient client(HttpSettings{});
    CHECK(client.request(server.endpoint(), get(), enough, soon()).status == 302);
    CHECK(requests == 1);
}
