#include "sandbox/e2b/envd_client.hpp"
#include "tests/unit/e2b/envd_fixture.hpp"
#include "tests/unit/e2b/failure_of.hpp"
#include "tests/unit/e2b/golden.hpp"
#include "tests/unit/e2b/loopback_server.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::EnvelopeReader;
using berth::e2b::HttpFailure;
using berth::e2b::input_data_message;
using berth::e2b::is_before;
using berth::e2b::ProcessEnded;
using berth::e2b::ProcessOutput;
using berth::e2b::ProcessSignal;
using berth::e2b::ProcessStarted;
using berth::e2b::ProcessStream;
using berth::e2b::StatusError;
using berth::tests::chunk;
using berth::tests::chunked_head;
using berth::tests::error_of;
using berth::tests::failure_of;
using berth::tests::last_chunk;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireConnection;
using berth::tests::WireRequest;
using nlohmann::json;
namespace golden = berth::tests::golden;

using Fixture = berth::tests::EnvdFixture;

namespace {

using Cause = HttpFailure::Cause;

constexpr std::string_view stream_type = "application/connect+json";

std::string stream_of(std::string_view bytes)
{
    return chunked_head(stream_type) + chunk(bytes) + std::string(last_chunk);
}

LoopbackServer::Serve saying(std::string answer, WireRequest* seen = nullptr)
{
    return LoopbackServer::answering(
        [answer = std::move(answer), seen](const WireRequest& request) {
            if (seen != nullptr) {
                *seen = request;
            }
            return answer;
        });
}

/// All events of a stream, in words.
std::vector<std::string> events_of(ProcessStream& stream)
{
    std::vector<std::string> words;
    while (const auto event = stream.next(soon())) {
        if (const auto* started = std::get_if<ProcessStarted>(&*event)) {
            words.push_back("pid " + std::to_string(started->pid));
        } else if (const auto* output = std::get_if<ProcessOutput>(&*event)) {
            words.push_back("says " + output->bytes);
        } else if (const auto* ended = std::get_if<ProcessEnded>(&*event)) {
            words.push_back("ends " + std::to_string(ended->exit_code));
        }
    }
    return words;
}

} // namespace

TEST_CASE("a start goes as the official client sends it, but for what must not be sent")
{
    WireRequest seen;
    Fixture envd(saying(stream_of(golden::start_answer), &seen));
    auto stream = envd.client.start({.command = "/bin/bash",
                                     .arguments = {"-l", "-c", "echo hi"},
                                     .user = "root",
                                     .stdin_open = false});
    CHECK(events_of(stream) == std::vector<std::string>{"pid 16274", "says hi\n", "ends 0"});
    CHECK_FALSE(stream.next(soon()));
    CHECK(seen.method == "POST");
    CHECK(seen.target == "/process.Process/Start");
    CHECK(seen.header("content-type") == stream_type);
    CHECK(seen.header("connect-protocol-version") == "1");
    CHECK(seen.header("keepalive-ping-interval") == "15");
    CHECK(seen.header("e2b-sandbox-id") == "iabc");
    CHECK(seen.header("e2b-sandbox-port") == "49983");
    CHECK(seen.header("x-access-token") == "ea_0123456789");
    CHECK(seen.header("authorization") == "Basic cm9vdDo=");
    CHECK(seen.header("connect-timeout-ms") == "(none)");
    CHECK(seen.header("idempotency-key") == "(none)");
    CHECK(seen.header("connect-accept-encoding") == "(none)");
    REQUIRE(seen.body.size() == golden::start_request.size());
    CHECK(seen.body.substr(0, 5) == golden::start_request.substr(0, 5));
    CHECK(json::parse(seen.body.substr(5)) == json::parse(golden::start_request.substr(5)));
}

TEST_CASE("a captured stream is understood in whatever chunks it comes")
{
    for (const std::size_t size : {1U, 2U, 3U, 5U, 7U, 50U}) {
        CAPTURE(size);
        Fixture envd([&](WireConnection& connection) {
            static_cast<void>(connection.request());
            connection.send(chunked_head(stream_type));
            for (auto rest = golden::start_answer; !rest.empty();
                 rest.remove_prefix(std::min(size, rest.size()))) {
                connection.send(chunk(rest.substr(0, size)));
            }
            connection.send(last_chunk);
        });
        auto stream = envd.client.connect(16274);
        CHECK(events_of(stream) == std::vector<std::string>{"pid 16274", "says hi\n", "ends 0"});
    }
}

TEST_CASE("one call after another is on one connection, streams too")
{
    Fixture envd(LoopbackServer::answering([](const WireRequest& request) {
        return request.target.ends_with("Start") ? stream_of(golden::start_answer)
                                                 : reply(200, golden::list_answer);
    }));
    for (int i = 0; i < 3; ++i) {
        auto stream = envd.client.start({.command = "x"});
        CHECK(events_of(stream).size() == 3);
        CHECK(envd.client.list(soon()).size() == 1);
    }
    CHECK(envd.server.connections() == 1);
}

TEST_CASE("a stream that is cut at any byte has no end, and is never taken for one that has")
{
    for (std::size_t at = 0; at < golden::start_answer.size(); ++at) {
        CAPTURE(at);
        const auto part = golden::start_answer.substr(0, at);
        bool at_chunk_end = false;
        for (int i = 0; i < 2; ++i) {
            Fixture envd([&](WireConnection& connection) {
                static_cast<void>(connection.request());
                connection.send(chunked_head(stream_type) + (part.empty() ? "" : chunk(part)) +
                                (at_chunk_end ? std::string(last_chunk) : ""));
            });
            auto stream = envd.client.start({.command = "x"});
            CHECK(failure_of([&] { static_cast<void>(events_of(stream)); }).cause() ==
                  Cause::broken);
            at_chunk_end = true;
        }
    }
}

TEST_CASE("a refusal in the stream is one, also as its first word")
{
    const std::string error =
        R"({"error":{"code":"invalid_argument","message":"cwd '/x' missing"}})";
    std::string last("\x02\x00\x00\x00", 4);
    last += static_cast<char>(error.size());
    Fixture envd(saying(stream_of(last + error)));
    auto stream = envd.client.start({.command = "x"});
    try {
        static_cast<void>(stream.next(soon()));
        FAIL("no error");
    } catch (const StatusError& refused) {
        CHECK(refused.code() == ErrorCode::invalid_argument);
        CHECK(refused.word() == "invalid_argument");
        CHECK(std::string(refused.what()).find("cwd '/x' missing") != std::string::npos);
    }
    CHECK_FALSE(stream.next(soon()));
}

TEST_CASE("a sandbox that does not run is told by its status")
{
    Fixture envd(saying(reply(502, golden::gone)));
    auto stream = envd.client.start({.command = "x"});
    try {
        static_cast<void>(stream.next(soon()));
        FAIL("no error");
    } catch (const StatusError& refused) {
        CHECK(refused.status() == 502);
        CHECK(refused.code() == ErrorCode::sandbox_unavailable);
    }
    CHECK_FALSE(envd.client.is_healthy(soon()));
}

TEST_CASE("what is no stream of events is an error of the server's")
{
    std::string answer;
    SUBCASE("a page")
    {
        answer = reply(200, "<html>", "Content-Type: text/html\r\n");
    }
    SUBCASE("garbage")
    {
        answer = stream_of("HTTP/1.1 200 OK");
    }
    SUBCASE("too large")
    {
        answer = stream_of(std::string("\x00\x7f\xff\xff\xff", 5));
    }
    SUBCASE("no event")
    {
        answer = stream_of(std::string("\x00\x00\x00\x00\x02xx", 7));
    }
    SUBCASE("an end that is none")
    {
        answer = stream_of(std::string("\x02\x00\x00\x00\x02xx", 7));
    }
    Fixture envd(saying(answer));
    auto stream = envd.client.start({.command = "x"});
    CHECK(error_of([&] { static_cast<void>(stream.next(soon())); }) == ErrorCode::backend_error);
}

TEST_CASE("a silent stream is dead, one that gives signs of life is not")
{
    bool alive = false;
    SUBCASE("silent from the beginning") {}
    SUBCASE("with signs of life")
    {
        alive = true;
    }
    Fixture envd(
        [&](WireConnection& connection) {
            static_cast<void>(connection.request());
            if (alive) {
                connection.send(chunked_head(stream_type));
                for (int i = 0; i < 8; ++i) {
                    std::this_thread::sleep_for(100ms);
                    connection.send(chunk(golden::quiet));
                }
            }
            connection.wait_for_end();
        },
        {.silence = 400ms});
    auto stream = envd.client.start({.command = "x"});
    const auto begin = std::chrono::steady_clock::now();
    const auto failure = failure_of([&] { static_cast<void>(stream.next(Deadline())); });
    CHECK(failure.cause() == Cause::broken);
    CHECK(std::string(failure.what()).find("silent") != std::string::npos);
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(took >= (alive ? 800ms : 390ms));
}

TEST_CASE("a deadline leaves the stream as it is")
{
    std::binary_semaphore go(0);
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        go.acquire();
        connection.send(stream_of(golden::start_answer));
        connection.wait_for_end();
    });
    auto stream = envd.client.start({.command = "x"});
    for (int i = 0; i < 3; ++i) {
        CHECK(failure_of([&] { static_cast<void>(stream.next(Deadline::after(20ms))); }).cause() ==
              Cause::expired);
    }
    go.release();
    CHECK(events_of(stream).size() == 3);
}

TEST_CASE("a stream is cut from another thread at once")
{
    std::binary_semaphore gone(0);
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request());
        connection.send(chunked_head(stream_type) + chunk(golden::quiet));
        connection.wait_for_end();
        gone.release();
    });
    auto stream = envd.client.start({.command = "x"});
    std::jthread later([&] {
        std::this_thread::sleep_for(50ms);
        stream.cut();
    });
    CHECK(failure_of([&] { static_cast<void>(stream.next(Deadline())); }).cause() == Cause::cut);
    CHECK(gone.try_acquire_for(30s));
}

TEST_CASE("short calls say what the official client's say")
{
    WireRequest seen;
    Fixture envd(saying(reply(200, "{}"), &seen));
    const auto body = [&] { return json::parse(seen.body); };
    envd.client.send_input(16521, "ping\n", soon());
    CHECK(seen.target == "/process.Process/SendInput");
    CHECK(seen.header("content-type") == "application/json");
    CHECK(seen.header("keepalive-ping-interval") == "(none)");
    CHECK(seen.header("connect-timeout-ms") == "(none)");
    CHECK(seen.header("e2b-sandbox-id") == "iabc");
    CHECK(seen.header("e2b-sandbox-port") == "49983");
    CHECK(seen.header("authorization") == "(none)");
    CHECK(body() == json::parse(golden::send_input));
    envd.client.close_stdin(16521, soon());
    CHECK(seen.target == "/process.Process/CloseStdin");
    CHECK(body() == json::parse(golden::close_stdin));
    envd.client.send_signal(16598, ProcessSignal::kill, soon());
    CHECK(seen.target == "/process.Process/SendSignal");
    CHECK(body() == json::parse(golden::send_signal));
    CHECK(envd.client.list(soon()).empty());
    CHECK(seen.target == "/process.Process/List");
    CHECK(seen.body == "{}");
}

TEST_CASE("a short call that is refused says why, and keeps the token to itself")
{
    Fixture envd(saying(reply(404, R"({"code":"not_found","message":"no ea_0123456789 here"})")));
    try {
        envd.client.send_signal(1, ProcessSignal::terminate, soon());
        FAIL("no error");
    } catch (const StatusError& refused) {
        CHECK(refused.code() == ErrorCode::not_found);
        CHECK(std::string(refused.what()).find("no [hidden] here") != std::string::npos);
    }
}

TEST_CASE("a call that nobody answers ends by itself")
{
    Fixture envd([](WireConnection& connection) { connection.wait_for_end(); },
                 {.patience = 200ms});
    CHECK(failure_of([&] { static_cast<void>(envd.client.list(Deadline())); }).cause() ==
          Cause::expired);
}

TEST_CASE("an envd of before 0.4.0 is always told the user")
{
    WireRequest seen;
    Fixture old(saying(reply(200, "{}"), &seen), {}, "0.3.9");
    old.client.close_stdin(1, soon());
    CHECK(seen.header("authorization") == "Basic dXNlcjo=");
    CHECK(is_before("0.3.9", "0.4.0"));
    CHECK(is_before("0.9.9", "0.10.0"));
    CHECK_FALSE(is_before("0.4.0", "0.4.0"));
    CHECK_FALSE(is_before("0.5.7-dev", "0.5.7"));
    CHECK_FALSE(is_before("", "0.4.0"));
    CHECK_FALSE(is_before("new", "0.4.0"));
}

TEST_CASE("input goes as one request of envelopes, to the byte")
{
    WireRequest seen;
    Fixture envd(saying(stream_of(std::string("\x00\x00\x00\x00\x02{}", 7) +
                                  std::string("\x02\x00\x00\x00\x02{}", 7)),
                        &seen));
    std::string bytes;
    for (int i = 0; i < 700'000; ++i) {
        bytes += static_cast<char>(i * 7);
    }
    auto input = envd.client.stream_input(16521);
    input.send(std::string_view(bytes).substr(0, 10), soon());
    input.send(std::string_view(bytes).substr(10), soon());
    input.finish(soon());
    CHECK(seen.target == "/process.Process/StreamInput");
    CHECK(seen.header("content-type") == stream_type);
    CHECK(seen.header("transfer-encoding") == "chunked");
    EnvelopeReader reader;
    reader.feed(seen.body);
    const auto first = reader.next();
    REQUIRE(first);
    CHECK(json::parse(first->payload) == json::parse(R"({"start":{"process":{"pid":16521}}})"));
    std::string expected;
    std::size_t pieces = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto size = pieces == 0 ? 10 : std::min<std::size_t>(256U << 10U, bytes.size() - at);
        expected += input_data_message(std::string_view(bytes).substr(at, size)) + '\n';
        at += size;
        ++pieces;
    }
    std::string got;
    while (const auto message = reader.next()) {
        got += message->payload + '\n';
    }
    CHECK((got == expected)); // too long to be shown
    CHECK(pieces == 4);
    CHECK(reader.empty());
}

TEST_CASE("input that is refused says so")
{
    std::string answer;
    auto code = ErrorCode::not_found;
    SUBCASE("in the stream")
    {
        answer = stream_of(std::string("\x02\x00\x00\x00\x1f", 5) +
                           R"({"error":{"code":"not_found"}} )");
    }
    SUBCASE("by its status")
    {
        answer = reply(404, R"({"code":"not_found","message":"m"})");
    }
    SUBCASE("without an end")
    {
        answer = stream_of(std::string("\x00\x00\x00\x00\x02{}", 7));
        code = ErrorCode::sandbox_unavailable;
    }
    Fixture envd(saying(answer));
    auto input = envd.client.stream_input(1);
    CHECK(error_of([&] { input.finish(soon()); }) == code);
}

TEST_CASE("input that is refused while it is given says so")
{
    std::binary_semaphore refused(0);
    auto code = ErrorCode::not_found;
    auto answer =
        stream_of(std::string("\x02\x00\x00\x00\x1f", 5) + R"({"error":{"code":"not_found"}} )");
    SUBCASE("as it is") {}
    SUBCASE("or is taken for all")
    {
        code = ErrorCode::sandbox_unavailable;
        answer = stream_of(std::string("\x02\x00\x00\x00\x02{}", 7));
    }
    Fixture envd([&](WireConnection& connection) {
        static_cast<void>(connection.request_head());
        connection.send(answer);
        connection.finish();
        refused.release();
        connection.wait_for_end();
    });
    auto input = envd.client.stream_input(1);
    input.send("x", soon());
    refused.acquire();
    CHECK(error_of([&] {
              for (int i = 0; i < 200; ++i) {
                  input.send("y", soon());
                  std::this_thread::sleep_for(10ms);
              }
              input.finish(soon());
          }) == code);
    CHECK(envd.http.idle() == 0);
}

TEST_CASE("input to a process that does not read ends by itself")
{
    Fixture envd([](WireConnection& connection) { connection.wait_for_end(); },
                 {.patience = 300ms});
    auto input = envd.client.stream_input(1);
    const std::string piece(1U << 20U, 'x');
    const auto failure = failure_of([&] {
        for (int i = 0; i < 100; ++i) {
            input.send(piece, Deadline());
        }
    });
    CHECK(failure.cause() == Cause::expired);
}
