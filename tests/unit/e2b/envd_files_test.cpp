#include "sandbox/base/error.hpp"
#include "sandbox/e2b/envd_client.hpp"
#include "tests/unit/e2b/envd_fixture.hpp"
#include "tests/unit/e2b/loopback_server.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::Error;
using berth::ErrorCode;
using berth::e2b::EnvdClient;
using berth::e2b::HttpFailure;
using berth::tests::chunk;
using berth::tests::chunked_head;
using berth::tests::error_of;
using berth::tests::last_chunk;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireConnection;
using berth::tests::WireRequest;

using Fixture = berth::tests::EnvdFixture;

namespace {

EnvdClient::Source source_of(std::string& bytes)
{
    return [&bytes](char* data, std::size_t size) {
        const auto taken = std::min(size, bytes.size());
        std::copy_n(bytes.begin(), taken, data);
        bytes.erase(0, taken);
        return taken;
    };
}

std::string sample(std::size_t size)
{
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) {
        bytes += static_cast<char>(i * 13 + i / 256);
    }
    return bytes;
}

} // namespace

TEST_CASE("a file is uploaded as it is, in chunks, by the path that was given")
{
    WireRequest seen;
    Fixture envd(LoopbackServer::answering([&](const WireRequest& request) {
        seen = request;
        return reply(200, R"([{"path":"/a","name":"a","type":"file"}])");
    }));
    auto bytes = sample(3'000'000);
    const auto whole = bytes;
    envd.client.upload("/run/berth/a b+c&d=%2f", "root", source_of(bytes), soon());
    CHECK(seen.method == "POST");
    CHECK(seen.target == "/files?path=%2Frun%2Fberth%2Fa%20b%2Bc%26d%3D%252f&username=root");
    CHECK(seen.header("content-type") == "application/octet-stream");
    CHECK(seen.header("transfer-encoding") == "chunked");
    CHECK(seen.header("e2b-sandbox-id") == "iabc");
    CHECK(seen.header("e2b-sandbox-port") == "49983");
    CHECK(seen.header("x-access-token") == "ea_0123456789");
    CHECK((seen.body == whole));
    std::string none;
    envd.client.upload("empty", "", source_of(none), soon());
    CHECK(seen.target == "/files?path=empty");
    CHECK(seen.body.empty());
}

TEST_CASE("an upload that is refused says why")
{
    Fixture envd(LoopbackServer::answering(
        [&](const WireRequest&) { return reply(507, R"({"code":507,"message":"disk full"})"); }));
    auto bytes = sample(100'000);
    try {
        envd.client.upload("a", "", source_of(bytes), soon());
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::no_space);
        CHECK(std::string(error.what()).find("disk full") != std::string::npos);
    }
}

TEST_CASE(
    "an upload that is refused in its middle says why, and no connection is left with half of it")
{
    bool reset = false;
    int status = 507;
    SUBCASE("by an end") {}
    SUBCASE("by a reset")
    {
        reset = true;
    }
    SUBCASE("by what would be a success")
    {
        status = 200;
    }
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request_head());
        connection.send(reply(status, R"({"code":507,"message":"disk full"})"));
        connection.finish(); // as Go's server does it, which waits half a second then
        std::this_thread::sleep_for(300ms);
        if (reset) {
            connection.reset();
        } else {
            connection.wait_for_end();
        }
    });
    std::size_t left = 300;
    try {
        envd.client.upload(
            "a", "",
            [&](char* data, std::size_t size) {
                std::fill_n(data, size, 'x');
                std::this_thread::sleep_for(10ms);
                return left-- > 0 ? size : 0;
            },
            soon());
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() ==
              (status == 507 ? ErrorCode::no_space : ErrorCode::sandbox_unavailable));
        CHECK(std::string(error.what()).find(status == 507 ? "disk full" : "answered before") !=
              std::string::npos);
    }
    CHECK(left > 100); // and the source is asked for no more
    CHECK(envd.http.idle() == 0);
}

TEST_CASE("an upload that does not move ends, one that does has no end of time")
{
    bool moves = false;
    SUBCASE("it does not") {}
    SUBCASE("it does, slowly")
    {
        moves = true;
    }
    Fixture envd(
        [&](WireConnection& connection) {
            if (!moves) {
                connection.wait_for_end();
                return;
            }
            static_cast<void>(connection.request());
            connection.send(reply(200, "[]"));
        },
        {.patience = 300ms});
    std::size_t left = 100;
    const auto slowly = [&](char* data, std::size_t size) {
        std::fill_n(data, size, 'x');
        if (moves) {
            std::this_thread::sleep_for(10ms); // a second in all: thrice the patience
        }
        return left-- > 0 ? size : 0;
    };
    if (moves) {
        envd.client.upload("a", "", slowly, Deadline());
    } else {
        left = 10'000;
        CHECK(error_of([&] { envd.client.upload("a", "", slowly, Deadline()); }) ==
              ErrorCode::sandbox_unavailable);
        CHECK(left > 9'000); // it did not take them all into memory
    }
}

TEST_CASE("what the source throws ends the upload, and half a file is no request")
{
    bool whole = true;
    Fixture envd([&](WireConnection& connection) { whole = connection.request().has_value(); });
    const auto fails = [](char*, std::size_t) -> std::size_t {
        throw Error(ErrorCode::not_found, "gone");
    };
    CHECK(error_of([&] { envd.client.upload("a", "", fails, soon()); }) == ErrorCode::not_found);
    CHECK(envd.http.idle() == 0);
}

TEST_CASE("an envd that takes no file as it stands is not given one")
{
    Fixture envd([](WireConnection&) {}, {}, "0.5.6");
    std::string none;
    CHECK(error_of([&] { envd.client.upload("a", "", source_of(none), soon()); }) ==
          ErrorCode::unsupported);
    CHECK(envd.server.connections() == 0);
}

TEST_CASE("a file is downloaded to the byte, by its length or in chunks")
{
    const auto whole = sample(2'000'000);
    std::string answer = reply(200, whole);
    SUBCASE("by its length") {}
    SUBCASE("in chunks")
    {
        answer = chunked_head("application/octet-stream") + chunk(whole.substr(0, 7)) +
                 chunk(whole.substr(7)) + std::string(last_chunk);
    }
    WireRequest seen;
    Fixture envd(LoopbackServer::answering([&](const WireRequest& request) {
        seen = request;
        return answer;
    }));
    std::string got;
    const auto size =
        envd.client.download("/a b", "user", [&](std::string_view piece) { got += piece; }, soon());
    CHECK(size == whole.size());
    CHECK((got == whole));
    CHECK(seen.target == "/files?path=%2Fa%20b&username=user");
    CHECK(seen.header("accept-encoding") == "identity");
    CHECK(envd.http.idle() == 1);
}

TEST_CASE("half a file is an error, and so is one whose end cannot be told")
{
    std::string answer = reply(200, "0123456789");
    SUBCASE("half by its length")
    {
        answer.resize(answer.size() - 1);
    }
    SUBCASE("half by its chunks")
    {
        answer = chunked_head("application/octet-stream") + chunk("0123456789");
    }
    SUBCASE("without either")
    {
        answer = "HTTP/1.1 200 OK\r\n\r\n0123456789";
    }
    SUBCASE("packed")
    {
        answer = reply(200, "xx", "Content-Encoding: gzip\r\n");
    }
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(answer);
    });
    CHECK(error_of([&] {
              static_cast<void>(envd.client.download("a", "", [](std::string_view) {}, soon()));
          }).has_value());
}

TEST_CASE("a download that is refused says why, and gives nothing out")
{
    Fixture envd(LoopbackServer::answering([&](const WireRequest&) {
        return reply(404, R"({"code":404,"message":"path '/x' does not exist"})");
    }));
    bool given = false;
    CHECK(error_of([&] {
              static_cast<void>(
                  envd.client.download("/x", "", [&](std::string_view) { given = true; }, soon()));
          }) == ErrorCode::not_found);
    CHECK_FALSE(given);
}

TEST_CASE("who takes a download slowly holds it up, and it is not all in memory")
{
    std::atomic<std::size_t> sent = 0;
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        const std::string piece(1U << 20U, 'x');
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(piece.size() * 100) +
                        "\r\n\r\n");
        for (int i = 0; i < 100; ++i) {
            connection.send(piece);
            sent += piece.size();
        }
    });
    std::uint64_t taken = 0;
    bool first = true;
    const auto size = envd.client.download(
        "a", "",
        [&](std::string_view piece) {
            if (std::exchange(first, false)) {
                std::this_thread::sleep_for(300ms);
                CHECK(sent < 50U << 20U); // the kernel's buffers and half a megabyte
            }
            taken += piece.size();
        },
        soon());
    CHECK(size == 100U << 20U);
    CHECK(taken == size);
}
