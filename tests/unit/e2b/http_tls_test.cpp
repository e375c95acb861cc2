#include "sandbox/e2b/http.hpp"
#include "tests/unit/e2b/loopback_server.hpp"
#include "tests/unit/e2b/tls_server.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::UniqueFd;
using berth::e2b::HttpClient;
using berth::e2b::HttpFailure;
using berth::e2b::HttpRequest;
using berth::e2b::HttpSettings;
using berth::e2b::ProxyRules;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::TlsServer;
using berth::tests::WireConnection;
using berth::tests::WireRequest;

namespace {

using Cause = HttpFailure::Cause;

std::string body_from(HttpClient& client, const berth::e2b::Endpoint& endpoint)
{
    return client.request(endpoint, {.method = "GET", .target = "/"}, 1000, soon()).body;
}

std::optional<HttpFailure> failure_from(HttpClient& client, const berth::e2b::Endpoint& endpoint)
{
    try {
        static_cast<void>(body_from(client, endpoint));
    } catch (const HttpFailure& failure) {
        return failure;
    }
    return std::nullopt;
}

ProxyRules rules_of(const std::map<std::string, std::string>& environment)
{
    return ProxyRules::read([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found != environment.end() ? std::optional(found->second) : std::nullopt;
    });
}

UniqueFd connected_to(std::uint16_t port)
{
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
    return socket;
}

void copy(int from, int to)
{
    std::array<char, 4096> piece{};
    for (;;) {
        const auto got = ::recv(from, piece.data(), piece.size(), 0);
        if (got <= 0) {
            ::shutdown(to, SHUT_WR);
            return;
        }
        ::send(to, piece.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    }
}

/// A proxy that takes everybody to `port`, wherever he wants to go.
LoopbackServer::Serve leading_to(std::uint16_t port, WireRequest& seen)
{
    return [port, &seen](WireConnection& connection) {
        const auto request = connection.request_head();
        if (!request) {
            return;
        }
        seen = *request;
        const auto target = connected_to(port);
        connection.send("HTTP/1.1 200 Connection established\r\n\r\n");
        std::jthread back([&] { copy(target.get(), connection.socket()); });
        copy(connection.socket(), target.get());
    };
}

} // namespace

TEST_CASE(
    "a certificate of the right name from who is trusted opens a connection, and another none")
{
    const TlsServer server("localhost");
    HttpClient trusting(HttpSettings{.authorities = server.certificate()});
    CHECK(body_from(trusting, server.endpoint("localhost")) == "secret");

    HttpClient strange(HttpSettings{});
    const auto unknown = failure_from(strange, server.endpoint("localhost"));
    REQUIRE(unknown);
    CHECK(unknown->cause() == Cause::unconnected);
    CHECK(unknown->unsent());
    CHECK(std::string(unknown->what()).find("TLS") != std::string::npos);

    const auto misnamed = failure_from(trusting, server.endpoint("127.0.0.1"));
    REQUIRE(misnamed);
    CHECK(misnamed->cause() == Cause::unconnected);
}

TEST_CASE("a connection of TLS is used again, and its deadline holds")
{
    const TlsServer server("127.0.0.1");
    HttpClient client(HttpSettings{.authorities = server.certificate()});
    CHECK(body_from(client, server.endpoint("127.0.0.1")) == "secret");
    CHECK(client.idle() == 1);
    CHECK(body_from(client, server.endpoint("127.0.0.1")) == "secret");
    CHECK(client.idle() == 1);

    LoopbackServer silent([](WireConnection& connection) { connection.wait_for_end(); });
    auto endpoint = silent.endpoint();
    endpoint.tls = true;
    const auto begin = std::chrono::steady_clock::now();
    try {
        static_cast<void>(client.request(endpoint, {.method = "POST", .target = "/", .body = "x"},
                                         1000, Deadline::after(200ms)));
        FAIL("an answer");
    } catch (const HttpFailure& failure) {
        CHECK(failure.cause() == Cause::expired);
        CHECK(failure.unsent()); // there was no connection that anything was sent on
    }
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("over TLS a server that is silent holds nobody, and its connection is not kept")
{
    const TlsServer server("127.0.0.1");
    HttpClient client(HttpSettings{.authorities = server.certificate()});
    const auto begin = std::chrono::steady_clock::now();
    try {
        static_cast<void>(client.request(server.endpoint("127.0.0.1"),
                                         {.method = "GET", .target = "/silent"}, 1000,
                                         Deadline::after(200ms)));
        FAIL("an answer");
    } catch (const HttpFailure& failure) {
        CHECK(failure.cause() == Cause::expired);
        CHECK_FALSE(failure.unsent());
    }
    auto exchange =
        client.open(server.endpoint("127.0.0.1"), {.method = "GET", .target = "/silent"});
    std::jthread later([&] {
        std::this_thread::sleep_for(100ms);
        exchange.cut();
    });
    try {
        static_cast<void>(exchange.head(soon()));
        FAIL("an answer");
    } catch (const HttpFailure& failure) {
        CHECK(failure.cause() == Cause::cut);
    }
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(client.idle() == 0);
}

TEST_CASE("a server that speaks no TLS is not spoken to without it")
{
    std::string heard;
    LoopbackServer server([&](WireConnection& connection) {
        heard = connection.some();
        connection.send(reply(200, "x"));
    });
    auto endpoint = server.endpoint();
    endpoint.tls = true;
    HttpClient client(HttpSettings{});
    const auto failure = failure_from(client, endpoint);
    REQUIRE(failure);
    CHECK(failure->cause() == Cause::unconnected);
    CHECK(heard.find("GET") == std::string::npos);
}

TEST_CASE("TLS goes through a proxy, which hears a name and no more")
{
    const TlsServer server("e2b.example");
    WireRequest seen;
    const LoopbackServer proxy(leading_to(server.endpoint("").port, seen));
    const auto address = "127.0.0.1:" + std::to_string(proxy.port());
    HttpClient client(
        HttpSettings{.proxies = rules_of({{"HTTPS_PROXY", "http://user:pass%3aword@" + address}}),
                     .authorities = server.certificate()});
    const auto endpoint = server.endpoint("e2b.example");
    CHECK(body_from(client, endpoint) == "secret");
    CHECK(seen.method == "CONNECT");
    CHECK(seen.target == "e2b.example:" + std::to_string(endpoint.port));
    CHECK(seen.header("proxy-authorization") == "Basic dXNlcjpwYXNzOndvcmQ=");
    // The password of the proxy is none of the server's business.
    for (const auto& [name, value] : server.headers()) {
        CAPTURE(name);
        CHECK(value.find("dXNlcjpwYXNz") == std::string::npos);
    }
}

TEST_CASE("without TLS the proxy is asked for the whole URL")
{
    WireRequest seen;
    const LoopbackServer proxy(LoopbackServer::answering([&](const WireRequest& request) {
        seen = request;
        return reply(200, "by proxy");
    }));
    HttpClient client(HttpSettings{
        .proxies = rules_of({{"HTTP_PROXY", "127.0.0.1:" + std::to_string(proxy.port())}})});
    CHECK(body_from(client, {.tls = false, .host = "box.example", .port = 8080, .prefix = "/p"}) ==
          "by proxy");
    CHECK(seen.target == "http://box.example:8080/p/");
    CHECK(seen.header("host") == "box.example:8080");
}

TEST_CASE("a proxy that refuses to connect is named, and not the host's certificates alone")
{
    const LoopbackServer proxy(
        LoopbackServer::answering([&](const WireRequest&) { return reply(403, "not there"); }));
    HttpClient client(HttpSettings{
        .proxies = rules_of({{"HTTPS_PROXY", "127.0.0.1:" + std::to_string(proxy.port())}})});
    const auto failure =
        failure_from(client, {.tls = true, .host = "e2b.example", .port = 443, .prefix = {}});
    REQUIRE(failure);
    CHECK(failure->cause() == Cause::unconnected);
    CHECK(failure->unsent());
    CHECK(std::string(failure->what()).find("through the proxy") != std::string::npos);
    CHECK(failure->hint().find("HTTPS_PROXY") != std::string::npos);
}

TEST_CASE("a proxy that wants a password is named, and not taken for the server")
{
    const LoopbackServer proxy(LoopbackServer::answering(
        [&](const WireRequest&) { return reply(407, "", "Proxy-Authenticate: Basic\r\n"); }));
    const auto address = "127.0.0.1:" + std::to_string(proxy.port());
    HttpClient client(
        HttpSettings{.proxies = rules_of({{"HTTPS_PROXY", address}, {"HTTP_PROXY", address}})});
    for (const bool tls : {true, false}) {
        const auto failure =
            failure_from(client, {.tls = tls, .host = "e2b.example", .port = 443, .prefix = {}});
        REQUIRE(failure);
        CHECK(failure->cause() == Cause::unconnected);
        CHECK(failure->unsent());
        CHECK(std::string(failure->what()).find("proxy") != std::string::npos);
    }
    CHECK(client.idle() == 0);
}
