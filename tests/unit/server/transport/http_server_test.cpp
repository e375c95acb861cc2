#include "server/transport/http_server.hpp"
#include "tests/unit/server/transport/http_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using berth::tests::becomes_true;
using berth::tests::http_post;
using berth::tests::http_request;
using berth::tests::HttpBench;

namespace {

std::size_t count_threads()
{
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each :
         std::filesystem::directory_iterator("/proc/self/task")) {
        ++count;
    }
    return count;
}

} // namespace

TEST_CASE("a connection has one request after the other, each with its own body")
{
    HttpBench bench;
    auto peer = bench.connect();
    const auto first = peer.ask(http_post("/echo", "a"));
    CHECK(first.status == 200);
    CHECK(first.body == "POST /echo a");
    CHECK(first.has("x-own: yes"));
    CHECK(first.has("content-type: text/plain"));
    const auto second = peer.ask(http_request("/empty", "", "", "GET"));
    CHECK(second.status == 202);
    CHECK(second.body.empty());
    CHECK(peer.ask(http_post("/echo", "")).body == "POST /echo ");
    CHECK(bench.server().connections() == 1);
    CHECK(becomes_true([&] { return bench.handler.wrote == 2; }));
    CHECK(bench.handler.lost == 0);
    peer.leave();
    CHECK(becomes_true([&] { return bench.server().connections() == 0; }));
}

TEST_CASE("requests that come together are answered in their order")
{
    HttpBench bench;
    auto peer = bench.connect();
    std::string all;
    for (int i = 0; i < 20; ++i) {
        all += http_post("/echo", std::to_string(i));
    }
    REQUIRE(peer.say(all));
    for (int i = 0; i < 20; ++i) {
        CHECK(peer.answer().body == "POST /echo " + std::to_string(i));
    }
    CHECK(bench.handler.answered == 20);
}

TEST_CASE("a request may come in pieces")
{
    HttpBench bench;
    auto peer = bench.connect();
    for (const char byte : http_post("/echo", "body")) {
        REQUIRE(peer.say(std::string(1, byte)));
    }
    CHECK(peer.answer().body == "POST /echo body");
}

TEST_CASE("a body as long as allowed is taken whole")
{
    HttpBench bench;
    auto peer = bench.connect();
    const std::string body(1'000'000, 'x');
    CHECK(peer.ask(http_post("/echo", body)).body.size() == body.size() + 11);
    CHECK(peer.ask(http_post("/echo", "y")).body == "POST /echo y");
}

TEST_CASE("a body that is too long is refused before it comes")
{
    HttpBench bench({.body = 100});
    auto peer = bench.connect();
    CHECK(peer.ask(http_post("/echo", std::string(100, 'x'))).status == 200);
    const auto refused = peer.ask(http_request("/echo", "Content-Length: 101\r\n"));
    CHECK(refused.status == 413);
    CHECK(refused.has("connection: close"));
    CHECK(peer.is_closed());
    CHECK(bench.handler.answered == 1);
    auto waiting = bench.connect(); // it is not asked to send what would not be read
    CHECK(waiting.ask(http_request("/echo", "Content-Length: 101\r\nExpect: 100-continue\r\n"))
              .status == 413);
    auto huge = bench.connect();
    CHECK(huge.ask(http_request("/echo", "Content-Length: 18446744073709551615\r\n")).status ==
          413);
}

TEST_CASE("who waits to be told to go on is, once it was let in")
{
    HttpBench bench;
    auto peer = bench.connect();
    const std::string lines = "Content-Length: 4\r\nExpect: 100-continue\r\n";
    CHECK(peer.ask(http_request("/echo", lines)).status == 100);
    const auto answer = peer.ask("body");
    CHECK(answer.status == 200);
    CHECK(answer.body == "POST /echo body");
    CHECK(peer.ask(http_request("/forbidden", lines)).status == 401);
    CHECK(peer.is_closed());
    CHECK(bench.handler.answered == 1);
}

TEST_CASE("a request that is not let in ends its connection only where it has a body")
{
    HttpBench bench;
    auto peer = bench.connect();
    CHECK(peer.ask(http_request("/forbidden", "", "", "GET")).body == "who are you?");
    CHECK(peer.ask(http_post("/echo", "")).status == 200);
    CHECK(peer.ask(http_post("/forbidden", "x")).status == 401);
    CHECK(peer.is_closed());
}

TEST_CASE("bodies have a limit together, and of one caller")
{
    HttpBench bench({.body = 600, .bodies = 1000});
    const std::string body(600, 'x');
    auto first = bench.connect();
    REQUIRE(first.say(http_post("/waits", body)));
    CHECK(becomes_true([&] { return bench.handler.answered == 1; }));
    auto second = bench.connect();
    CHECK(second.ask(http_post("/echo", body)).status == 503);
    CHECK(second.is_closed());
    bench.handler.waits = false;
    CHECK(first.answer().status == 200);
    auto third = bench.connect();
    CHECK(becomes_true([&] { // what the first held is given back after its answer
        auto peer = bench.connect();
        return peer.ask(http_post("/echo", body)).status == 200;
    }));
}

TEST_CASE("a caller may hold a quarter of all bodies, but always one")
{
    HttpBench bench({.body = 600, .bodies = 2800});
    const auto post = [](const std::string& path, std::size_t size, bool own) {
        return http_request(path,
                            std::string(own ? "X-Account: 1\r\n" : "") +
                                "Content-Length: " + std::to_string(size) + "\r\n",
                            std::string(size, 'x'));
    };
    auto first = bench.connect();
    REQUIRE(first.say(post("/waits", 600, true)));
    CHECK(becomes_true([&] { return bench.handler.answered == 1; }));
    CHECK(*bench.handler.account == 600);
    auto second = bench.connect();
    CHECK(second.ask(post("/echo", 101, true)).status == 503);
    auto third = bench.connect();
    CHECK(third.ask(post("/echo", 100, true)).status == 200);
    CHECK(third.ask(post("/echo", 600, false)).status == 200);
    bench.handler.waits = false;
    CHECK(first.answer().status == 200);
    CHECK(becomes_true([&] { return *bench.handler.account == 0; }));
}

TEST_CASE("a head that does not come in time is told so")
{
    HttpBench bench({.head_time = 50ms});
    auto peer = bench.connect();
    REQUIRE(peer.say("POST / HTTP/1.1\r\n"));
    CHECK(peer.answer().status == 408);
    CHECK(peer.is_closed());
    auto dripping = bench.connect();
    for (int i = 0; i < 10'000 && !dripping.has_news(); ++i) {
        (void)dripping.say("x");
        std::this_thread::sleep_for(1ms);
    }
    CHECK(dripping.answer().status == 408);
    CHECK(bench.handler.admitted == 0);
}

TEST_CASE("a head that is too long, or none of HTTP, is told so")
{
    HttpBench bench({.head = {.bytes = 200, .fields = 5, .target = 50}});
    auto longer = bench.connect();
    CHECK(longer.ask("POST / HTTP/1.1\r\nA: " + std::string(100'000, 'x')).status == 431);
    CHECK(longer.is_closed());
    auto target = bench.connect();
    CHECK(target.ask(http_request('/' + std::string(100, 'x'))).status == 414);
    auto other = bench.connect();
    const auto answer = other.ask("SSH-2.0-OpenSSH\r\n\r\n");
    CHECK(answer.status == 400);
    CHECK(answer.has("connection: close"));
    CHECK(other.is_closed());
    CHECK(bench.handler.admitted == 0);
}

TEST_CASE("a body that does not come whole is never taken for one")
{
    HttpBench bench({.body_time = 50ms});
    auto slow = bench.connect();
    CHECK(slow.ask(http_request("/echo", "Content-Length: 5\r\n", "abc")).status == 408);
    CHECK(slow.is_closed());
    auto slower = bench.connect(); // in pieces
    CHECK(slower.ask(http_request("/echo", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"))
              .status == 408);
    auto cut = bench.connect();
    REQUIRE(cut.say(http_request("/echo", "Content-Length: 5\r\n", "abc")));
    cut.leave();
    CHECK(becomes_true([&] { return bench.server().connections() == 0; }));
    CHECK(bench.handler.answered == 0);
}

TEST_CASE("idle connections take no thread")
{
    HttpBench bench;
    const auto before = count_threads();
    std::vector<berth::tests::HttpPeer> peers;
    for (int i = 0; i < 30; ++i) {
        peers.push_back(bench.connect());
    }
    CHECK(becomes_true([&] { return bench.server().connections() == 30; }));
    CHECK(count_threads() <= before); // those of other tests may yet end
    CHECK(bench.server().busy() == 0);
    for (auto& peer : peers) {
        CHECK(peer.ask(http_post("/echo", "x")).status == 200);
    }
    // The threads end when they have had nothing to do for a while.
    CHECK(becomes_true([&] { return count_threads() <= before; }));
    CHECK(bench.server().connections() == 30);
    CHECK(peers.front().ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("a connection that is idle for too long ends")
{
    HttpBench bench({.idle_time = 50ms});
    auto silent = bench.connect();
    auto used = bench.connect();
    CHECK(used.ask(http_post("/echo", "x")).status == 200);
    CHECK(silent.is_closed());
    CHECK(used.is_closed());
    CHECK(becomes_true([&] { return bench.server().connections() == 0; }));
}

TEST_CASE("beyond the limit the connection that was idle for longest goes")
{
    HttpBench bench({.connections = 2});
    auto first = bench.connect();
    CHECK(becomes_true([&] { return bench.server().connections() == 1; }));
    auto second = bench.connect();
    CHECK(becomes_true([&] { return bench.server().connections() == 2; }));
    auto third = bench.connect();
    CHECK(third.ask(http_post("/echo", "x")).status == 200);
    CHECK(first.is_closed());
    CHECK(second.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("who comes where half requests fill all places loses his own to no other who comes")
{
    HttpBench bench({.connections = 3});
    std::vector<berth::tests::HttpPeer> slow;
    for (std::size_t i = 1; i <= 3; ++i) {
        slow.push_back(bench.connect());
        REQUIRE(slow.back().say("POST / HT"));
        CHECK(becomes_true([&] { return bench.server().busy() == i; }));
    }
    auto first = bench.connect();
    auto second = bench.connect();
    CHECK(becomes_true([&] { return bench.server().connections() >= 3; }));
    CHECK(first.ask(http_post("/echo", "x")).status == 200);
    CHECK(second.ask(http_post("/echo", "x")).status == 200);
}

TEST_CASE("where all connections are busy, a new one is told so")
{
    HttpBench bench({.connections = 2});
    std::vector<berth::tests::HttpPeer> busy;
    for (int i = 0; i < 2; ++i) {
        busy.push_back(bench.connect());
        REQUIRE(busy.back().say(http_post("/waits", "x")));
        CHECK(becomes_true([&] { return bench.handler.answered == i + 1; }));
    }
    CHECK(bench.server().busy() == 2);
    auto refused = bench.connect();
    const auto answer = refused.answer();
    CHECK(answer.status == 503);
    CHECK(answer.has("retry-after: 1"));
    CHECK(refused.is_closed());
    bench.handler.waits = false;
    CHECK(busy[0].answer().status == 200);
    CHECK(busy[1].answer().status == 200);
    CHECK(becomes_true([&] { // once they are idle, they make room
        auto peer = bench.connect();
        return peer.ask(http_post("/echo", "x")).status == 200;
    }));
}

TEST_CASE("whose request does not come whole keeps no place from those whose does")
{
    HttpBench bench({.connections = 3});
    std::vector<berth::tests::HttpPeer> slow;
    const auto fill = [&](const std::string& text, std::size_t bytes_of_bodies) {
        slow.push_back(bench.connect());
        REQUIRE(slow.back().say(text));
        CHECK(becomes_true([&] {
            return bench.server().busy() == slow.size() &&
                   *bench.handler.account == bytes_of_bodies;
        }));
    };
    const auto half_head = std::string("POST / HT");
    const auto half_body =
        berth::tests::http_request("/echo", "X-Account: yes\r\nContent-Length: 9\r\n", "half");
    constexpr std::size_t lost = 1;
    SUBCASE("of two heads and a body the first head goes")
    {
        fill(half_body, 4);
        fill(half_head, 4);
        fill(half_head, 4);
    }
    SUBCASE("of a head and two bodies of one caller the first body")
    {
        fill(half_head, 0);
        fill(half_body, 4);
        fill(half_body, 8);
    }
    auto next = bench.connect();
    CHECK(next.ask(http_post("/echo", "x")).body == "POST /echo x");
    CHECK(slow[lost].is_closed());
    CHECK_FALSE(slow[0].has_news());
    CHECK_FALSE(slow[2].has_news());
    CHECK(bench.handler.answered == 1);
}

TEST_CASE("whose request is worked on loses its place to nobody")
{
    HttpBench bench({.connections = 2});
    auto worked_on = bench.connect();
    REQUIRE(worked_on.say(http_post("/waits", "x")));
    CHECK(becomes_true([&] { return bench.handler.answered == 1; }));
    for (int i = 0; i < 4; ++i) {
        auto half = bench.connect();
        REQUIRE(half.say("POST / HT"));
        CHECK(becomes_true([&] { return bench.server().busy() == 2; }));
        auto next = bench.connect();
        CHECK(next.ask(http_post("/echo", "x")).status == 200);
        CHECK(half.is_closed());
        next.leave();
        CHECK(becomes_true([&] { return bench.server().connections() == 1; }));
    }
    bench.handler.waits = false;
    CHECK(worked_on.answer().body == "POST /waits x");
}

TEST_CASE("stop() lets requests have their answer, and ends what is idle")
{
    HttpBench bench;
    auto idle = bench.connect();
    auto used = bench.connect();
    CHECK(used.ask(http_post("/echo", "x")).status == 200);
    auto busy = bench.connect();
    REQUIRE(busy.say(http_post("/waits", "x")));
    CHECK(becomes_true([&] { return bench.handler.answered == 2; }));
    bench.stop();
    CHECK(idle.is_closed());
    CHECK(used.is_closed());
    CHECK_FALSE(bench.connect().is_connected());
    bench.handler.waits = false;
    const auto answer = busy.answer();
    CHECK(answer.body == "POST /waits x");
    CHECK(answer.has("connection: close"));
    CHECK(busy.is_closed());
}

TEST_CASE("the end of a server breaks off what is left")
{
    HttpBench bench;
    auto reading = bench.connect();
    REQUIRE(reading.say("POST / HT"));
    auto stream = bench.connect();
    REQUIRE(stream.say(http_post("/endless", "")));
    CHECK(stream.until("more") != std::string::npos);
    CHECK(becomes_true([&] { return bench.server().busy() == 2; }));
    const auto begin = std::chrono::steady_clock::now();
    bench.end();
    CHECK(std::chrono::steady_clock::now() - begin < 8s); // not the time that a head may take
    CHECK(bench.handler.ended == 1);
    CHECK(bench.handler.lost == 1);
}
