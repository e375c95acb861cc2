#include "sandbox/base/descriptors.hpp"
#include "sandbox/filter/proxy/interception.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

using namespace berth;
using filter::Interception;
using filter::Stream;
using filter::TlsStream;

namespace {

filter::Target target(const std::string& host)
{
    return filter::target_of(host, 443).value();
}

/// One proxy in the place of a server, and another that has to be told to trust it.
struct Sides {
    explicit Sides(const std::vector<filter::Target>& servers, const std::string& asked)
        : server(servers, "")
    {
        std::ofstream(file) << server.authority();
        const Interception trusting({}, file);
        auto [a, b] = make_socket_pair();
        sockets = {std::move(a), std::move(b)};
        for (const auto& socket : sockets) {
            ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
        }
        const auto deadline = Deadline::after(std::chrono::seconds(10));
        auto tls = trusting.as_client(target(asked));
        client = tls.get();
        as_client.emplace(std::move(tls), sockets[0].get(), "");
        as_server.emplace(server.as_server(target(asked)), sockets[1].get(), "");
        std::thread other([&] { server_said = as_server->shake_hands(deadline); });
        client_said = as_client->shake_hands(deadline);
        if (!client_said.empty()) {
            ::shutdown(sockets[0].get(), SHUT_RDWR);
        }
        other.join();
    }

    berth::tests::TemporaryDirectory directory;
    std::string file = directory / "authority.pem";
    Interception server;
    std::array<UniqueFd, 2> sockets;
    SSL* client = nullptr;
    std::optional<TlsStream> as_client;
    std::optional<TlsStream> as_server;
    std::string client_said;
    std::string server_said;
};

std::string received(Stream& stream, Stream::Outcome& last)
{
    std::string text;
    std::array<char, 100> buffer{};
    for (;;) {
        const auto [outcome, size] = stream.receive(buffer);
        last = outcome;
        if (outcome != Stream::Outcome::moved) {
            return text;
        }
        text.append(buffer.data(), size);
    }
}

} // namespace

TEST_CASE("whoever trusts the authority of a session trusts its servers, and no others")
{
    for (const std::string name : {"a.example", "10.1.2.3", "2001:db8::1"}) {
        CAPTURE(name);
        const Sides sides({target("a.example"), target("10.1.2.3"), target("2001:db8::1")}, name);
        CHECK(sides.client_said.empty());
        CHECK(sides.server_said.empty());
    }
    for (const std::string name : {"b.example", "example", "10.1.2.4", "2001:db8::2"}) {
        CAPTURE(name);
        const Sides sides({target("a.example"), target("10.1.2.3"), target("2001:db8::1")}, name);
        CHECK_FALSE(sides.client_said.empty());
        CHECK(sides.as_client->wrong_certificate() == "permitted subtree violation");
        CHECK_FALSE(sides.server_said.empty());
    }
    // Of names alone it certifies no address.
    CHECK(Sides({target("a.example")}, "10.1.2.3").as_client->wrong_certificate() ==
          "permitted subtree violation");
}

TEST_CASE("each session has an authority of its own")
{
    const Interception one({target("a.example")}, "");
    const Interception other({target("a.example")}, "");
    CHECK(one.authority() != other.authority());
    CHECK(one.authority().starts_with("-----BEGIN CERTIFICATE-----\n"));
    CHECK(one.authority().find("PRIVATE") == std::string::npos);
}

TEST_CASE("an end of TLS is told from a connection that was cut")
{
    for (const bool says_so : {true, false}) {
        Sides sides({target("a.example")}, "a.example");
        REQUIRE(sides.client_said.empty());
        CHECK(sides.as_server->send("words").size == 5);
        if (says_so) {
            sides.as_server->end();
        } else {
            ::shutdown(sides.sockets[1].get(), SHUT_WR);
        }
        auto last = Stream::Outcome::later;
        CHECK(received(*sides.as_client, last) == "words");
        CHECK(last == (says_so ? Stream::Outcome::ended : Stream::Outcome::cut));
    }
}

TEST_CASE("keys may be changed, but not without end")
{
    Sides sides({target("a.example")}, "a.example");
    REQUIRE(sides.client_said.empty());
    auto last = Stream::Outcome::later;
    std::string heard;
    for (int i = 0; i < 50; ++i) {
        REQUIRE(::SSL_key_update(sides.client, SSL_KEY_UPDATE_REQUESTED) == 1);
        REQUIRE(sides.as_client->send("x").size == 1);
        heard += received(*sides.as_server, last);
    }
    CHECK(heard == std::string(50, 'x'));
    CHECK(last == Stream::Outcome::later);
    for (int i = 0; i < 100 && last == Stream::Outcome::later; ++i) {
        REQUIRE(::SSL_key_update(sides.client, SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
        REQUIRE(sides.as_client->send("x").size == 1);
        heard += received(*sides.as_server, last);
    }
    CHECK(last == Stream::Outcome::broken);
    CHECK(heard.size() <= 101);
}

TEST_CASE("certificates that cannot be read stop a proxy")
{
    CHECK_THROWS_WITH_AS(Interception({target("a.example")}, "/no/such/file"),
                         doctest::Contains("SSL_CERT_FILE"), std::runtime_error);
}
