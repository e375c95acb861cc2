#include "server/transport/http_library.hpp"
#include "tests/unit/server/transport/http_bench.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using berth::tests::becomes_true;
using berth::tests::http_post;
using berth::tests::http_request;
using berth::tests::HttpBench;

namespace {

std::string in_chunks(const std::string& chunks, const std::string& path = "/echo")
{
    return http_request(path, "Transfer-Encoding: chunked\r\n", chunks);
}

/// Those that have come.
std::vector<std::string> messages_of(const UniqueFd& peer)
{
    std::vector<std::string> messages;
    std::string message(200'000, '\0');
    for (;;) {
        const auto size = ::recv(peer.get(), message.data(), message.size(), MSG_DONTWAIT);
        if (size <= 0) {
            REQUIRE_FALSE(messages.empty());
            return messages;
        }
        messages.push_back(message.substr(0, static_cast<std::size_t>(size)));
    }
}

} // namespace

TEST_CASE("a body in chunks is put together")
{
    HttpBench bench;
    auto peer = bench.connect();
    CHECK(peer.ask(in_chunks("3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n")).body ==
          "POST /echo abc0123456789");
    CHECK(peer.ask(in_chunks("0\r\n\r\n")).body == "POST /echo ");
    CHECK(peer.ask(in_chunks("f\r\n\r\n0\r\n\r\n3\r\nabc\r\n\r\n0\r\n\r\n")).body ==
          "POST /echo \r\n0\r\n\r\n3\r\nabc\r\n");
    CHECK(peer.ask(http_post("/echo", "x")).body == "POST /echo x");
    const auto lines = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n";
    CHECK(peer.ask(http_request("/echo", lines)).status == 100);
    CHECK(peer.ask("1\r\na\r\n0\r\n\r\n").body == "POST /echo a");
}

TEST_CASE("chunks that are none end the connection, and nothing after them is a request")
{
    HttpBench bench({.body = 1000, .body_time = 5s});
    const auto next = http_post("/smuggled", "x");
    for (const auto* chunks :
         {"-1\r\nabc\r\n0\r\n\r\n", "-2\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
          "zz\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n",
          "0x3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "3 x\r\nabc\r\n0\r\n\r\n",
          "3\r\nabcX\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabcXX", "3\nabc\r\n0\r\n\r\n",
          "3;a\nb\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\nX", "3\r\nabc\r\n0\r\nA: b\r\n\r\n",
          "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", "10000000000000003\r\nabc\r\n0\r\n\r\n"}) {
        CAPTURE(chunks);
        auto peer = bench.connect();
        REQUIRE(peer.say(in_chunks(chunks) + next));
        peer.half_close(); // else some wait for more
        const auto answer = peer.answer();
        CHECK((answer.status == 0 || answer.status == 400 || answer.status == 413));
        CHECK(peer.is_closed());
    }
    CHECK(bench.handler.answered == 0);
    CHECK(bench.handler.admitted == 18);
}

TEST_CASE("chunks are told as wrong as soon as they are seen to be")
{
    HttpBench bench;
    for (const auto* chunks : {"-2\r\nabc", "10000000000000003\r\nabc", "3\r\nabcX", "zz\r\n"}) {
        CAPTURE(chunks);
        auto peer = bench.connect();
        CHECK(peer.ask(in_chunks(chunks)).status >= 400);
        CHECK(peer.is_closed());
    }
}

TEST_CASE("the limit of a body holds for chunks, whatever their size, and for the lines between")
{
    HttpBench bench({.body = 1000});
    auto large = bench.connect();
    const auto answer = large.ask(in_chunks("3e9\r\n" + std::string(1001, 'x')));
    CHECK(answer.status == 413);
    CHECK(large.is_closed());
    auto small = bench.connect();
    std::string chunks;
    for (int i = 0; i < 1001; ++i) {
        chunks += "1\r\nx\r\n";
    }
    CHECK(small.ask(in_chunks(chunks)).status == 413);
    auto line = bench.connect(); // a size whose line does not end
    CHECK(line.ask(in_chunks("1;" + std::string(200'000, 'x'))).status == 400);
    CHECK(line.is_closed());
    auto zeros = bench.connect();
    CHECK(zeros.ask(in_chunks(std::string(200'000, '0'))).status == 400);
    CHECK(bench.handler.answered == 0);
}

TEST_CASE("of what a handler throws nobody reads the text")
{
    HttpBench bench;
    for (const auto* path : {"/throws", "/admit-throws"}) {
        CAPTURE(path);
        auto peer = bench.connect();
        const auto answer = peer.ask(http_post(path, ""));
        CHECK(answer.status == 500);
        CHECK(answer.has("connection: close"));
        CHECK((answer.head + answer.body).find("secret") == std::string::npos);
        CHECK(peer.is_closed());
    }
    auto other = bench.connect();
    CHECK(other.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("a stream is written piece by piece, and the connection goes on")
{
    HttpBench bench;
    auto peer = bench.connect();
    for (int i = 0; i < 2; ++i) {
        const auto answer = peer.ask(http_post("/stream", ""));
        CHECK(answer.status == 200);
        CHECK(answer.has("transfer-encoding: chunked"));
        CHECK(answer.has("content-type: text/plain"));
        CHECK(answer.has("x-own: yes"));
        CHECK(answer.body == "one two");
    }
    CHECK(becomes_true([&] { return bench.handler.wrote == 2; }));
    CHECK(peer.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("a stream may end with nothing behind what was written")
{
    HttpBench bench;
    auto peer = bench.connect();
    CHECK(peer.ask(http_post("/stream-ends", "")).body == "one ");
    CHECK(peer.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("the end of a stream goes out with its last piece, at which its peer may close")
{
    for (const std::size_t size : {0UL, 1000UL, 100'000UL}) {
        CAPTURE(size);
        std::array<int, 2> ends{}; // each write is a message
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
        const UniqueFd peer(ends[1]);
        transport::HttpSocket own{UniqueFd(ends[0])};
        std::string first;
        transport::HttpAnswer answer{.type = "text/plain"};
        answer.stream = [&](const auto& write) {
            CHECK(write("first"));
            first = messages_of(peer).back();
            return std::string(size, 'x') + "last";
        };
        transport::HttpLibrary library;
        CHECK(library.process(
            own, {.method = "GET"}, false, [](auto) { return false; },
            [&](bool) { return std::move(answer); }));
        CHECK(first == "5\r\nfirst\r\n"); // waits for nothing
        CHECK(messages_of(peer).back().ends_with("last\r\n0\r\n\r\n"));
    }
}

TEST_CASE("a stream whose peer goes away ends, and is told as not written")
{
    HttpBench bench;
    auto peer = bench.connect();
    REQUIRE(peer.say(http_post("/endless", "")));
    CHECK(peer.until("more") != std::string::npos);
    CHECK(bench.server().busy() == 1);
    peer.leave();
    CHECK(becomes_true([&] { return bench.handler.lost == 1; }));
    CHECK(bench.handler.ended == 1);
    CHECK(bench.handler.wrote == 0);
    CHECK(becomes_true([&] { return bench.server().connections() == 0; }));
}

TEST_CASE("a peer that reads nothing for so long is taken for gone, and nothing is kept for it")
{
    constexpr std::size_t more_than_a_kernel_takes = 32UL << 20U;
    HttpBench bench({.body = more_than_a_kernel_takes, .write_time = 500ms});
    auto deaf = bench.connect();
    REQUIRE(deaf.say(http_post("/echo", std::string(more_than_a_kernel_takes, 'x'))));
    CHECK(becomes_true([&] { return bench.handler.answered == 1; }));
    auto other = bench.connect(); // who need not wait for it
    CHECK(other.ask(http_post("/echo", "y")).body == "POST /echo y");
    CHECK(becomes_true([&] { return bench.handler.lost == 1; }));
    CHECK(becomes_true([&] { return bench.server().connections() == 1; }));
    CHECK(bench.server().body_bytes() == 0);
    const auto cut = deaf.answer();
    CHECK(cut.status == 200);
    CHECK(cut.body.size() < more_than_a_kernel_takes / 2);
    CHECK(berth::transport::HttpSettings().write_time == 30s); // as docs/http.md has it
}

TEST_CASE("a stream that breaks is cut off, and told as not written")
{
    HttpBench bench;
    auto peer = bench.connect();
    const auto answer = peer.ask(http_post("/stream-throws", ""));
    CHECK(answer.body == "one <cut>");
    CHECK((answer.head + answer.body).find("secret") == std::string::npos);
    CHECK(peer.is_closed());
    CHECK(becomes_true([&] { return bench.handler.lost == 1; }));
    CHECK(bench.handler.wrote == 0);
    auto other = bench.connect();
    CHECK(other.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("to HTTP/1.0 no chunks are sent, and the connection ends unless it asks for more")
{
    HttpBench bench;
    const auto old = [](const std::string& path, const std::string& lines = "") {
        return http_request(path, lines, "", "GET", "HTTP/1.0");
    };
    auto plain = bench.connect();
    CHECK(plain.ask(old("/echo")).body == "GET /echo ");
    CHECK(plain.is_closed());
    for (const auto* lines : {"", "Connection: keep-alive\r\n"}) {
        CAPTURE(lines);
        auto stream = bench.connect();
        const auto answer = stream.ask(old("/stream", lines));
        CHECK_FALSE(answer.has("transfer-encoding: chunked"));
        CHECK(answer.body == "one two");
        CHECK(stream.is_closed());
    }
    CHECK(becomes_true([&] { return bench.handler.wrote == 3; }));
    auto lasting = bench.connect();
    CHECK(lasting.ask(old("/echo", "Connection: keep-alive\r\n")).status == 200);
    CHECK(lasting.ask(old("/echo", "Connection: keep-alive\r\n")).status == 200);
}

TEST_CASE("HEAD has the status and no body, also where a stream would be")
{
    HttpBench bench;
    auto peer = bench.connect();
    for (const auto* path : {"/echo", "/stream", "/empty"}) {
        CAPTURE(path);
        REQUIRE(peer.say(http_request(path, "", "", "HEAD")));
        CHECK(peer.answer(true).status == (path == std::string("/empty") ? 202 : 200));
    }
    REQUIRE(peer.say(http_request("/echo", "", "", "HEAD")));
    CHECK(peer.answer(true).has("content-length: 11")); // "HEAD /echo ", which is not sent
    CHECK(peer.ask(http_post("/echo", "x")).body == "POST /echo x");
}

TEST_CASE("a connection ends with the answer where either side says so")
{
    HttpBench bench;
    auto asked = bench.connect();
    const auto answer = asked.ask(http_request("/echo", "Connection: close\r\n"));
    CHECK(answer.has("connection: close"));
    CHECK(asked.is_closed());
    auto told = bench.connect();
    CHECK(told.ask(http_post("/last", "")).has("connection: close"));
    CHECK(told.is_closed());
}

TEST_CASE("what a request says decides nothing in the library beneath")
{
    HttpBench bench;
    auto peer = bench.connect();
    const auto answer = peer.ask(
        http_request("/echo",
                     "Range: bytes=0-1\r\nAccept-Encoding: gzip, br\r\nREMOTE_ADDR: 1.2.3.4\r\n"
                     "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n",
                     "ab", "PUT"));
    CHECK(answer.status == 200);
    CHECK(answer.body == "PUT /echo ab");
    CHECK_FALSE(answer.has("content-encoding: gzip"));
}
