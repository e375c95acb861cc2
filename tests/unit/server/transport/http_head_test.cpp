#include "sandbox/base/small_letters.hpp"
#include "server/transport/http_head.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

transport::HttpHead head_of(const std::string& text, const transport::HttpHeadLimits& limits = {})
{
    return transport::parse_http_head(text, limits);
}

/// A request of these further lines.
std::string head_with(const std::string& lines, const std::string& version = "HTTP/1.1")
{
    return "POST /mcp " + version + "\r\nHost: localhost\r\n" + lines + "\r\n";
}

/// With what a head is refused; 0: it is not.
int refused(const std::string& text, const transport::HttpHeadLimits& limits = {})
{
    try {
        (void)transport::parse_http_head(text, limits);
    } catch (const transport::HttpError& error) {
        CHECK_FALSE(std::string(error.what()).empty());
        return error.status();
    }
    return 0;
}

} // namespace

TEST_CASE("a head is what was sent, with names in small letters and nothing decoded")
{
    const auto head = head_of("POST /mcp/%2e?a=b?c HTTP/1.1\r\nHOST: localhost:80\r\n"
                              "Mcp-Name: \t %0d%0aX: y \t\r\nAccept: a\r\nAccept: b\r\n"
                              "Empty:\r\nContent-Length: 12\r\n\r\n");
    CHECK(head.method == "POST");
    CHECK(head.path == "/mcp/%2e");
    CHECK(head.query == "a=b?c");
    CHECK_FALSE(head.is_1_0);
    CHECK(head.keep_alive);
    CHECK_FALSE(head.chunked);
    CHECK_FALSE(head.expects_continue);
    CHECK(head.content_length == 12);
    CHECK(head.has_body());
    REQUIRE(head.fields.size() == 6);
    CHECK(head.fields[0] == std::pair<std::string, std::string>("host", "localhost:80"));
    REQUIRE(head.find("mcp-name") != nullptr);
    CHECK(*head.find("mcp-name") == "%0d%0aX: y");
    CHECK(*head.find("accept") == "a");
    CHECK(head.fields[3].second == "b");
    CHECK(head.find("empty")->empty());
    CHECK(head.find("Host") == nullptr);
    CHECK(head.find("cookie") == nullptr);
}

TEST_CASE("what follows a head is no part of it")
{
    const auto head = head_of("GET / HTTP/1.1\r\nHost: a\r\n\r\nHost: b\r\n\r\n");
    CHECK(head.fields.size() == 1);
    CHECK(head.path == "/");
    CHECK(head.query.empty());
    CHECK_FALSE(head.has_body());
}

TEST_CASE("a connection lasts as its version and the header Connection say")
{
    CHECK(head_of(head_with("")).keep_alive);
    CHECK_FALSE(head_of(head_with("Connection: Close\r\n")).keep_alive);
    CHECK_FALSE(head_of(head_with("Connection: upgrade, close\r\n")).keep_alive);
    const auto old = head_of(head_with("", "HTTP/1.0"));
    CHECK(old.is_1_0);
    CHECK_FALSE(old.keep_alive);
    CHECK(head_of(head_with("Connection: Keep-Alive\r\n", "HTTP/1.0")).keep_alive);
}

TEST_CASE("a request line that is none of HTTP/1 is refused")
{
    const std::string host = "\r\nHost: a\r\n\r\n";
    for (const auto* line :
         {"", "GET", "GET /", "GET  HTTP/1.1", " / HTTP/1.1", "G(T / HTTP/1.1", "GET x HTTP/1.1",
          "GET https://a/ HTTP/1.1", "GET http:/a HTTP/1.1", "GET http:// HTTP/1.1",
          "GET http:///x HTTP/1.1", "GET http://a@b/ HTTP/1.1", "GET http://a?x HTTP/1.1",
          "GET http://a#x HTTP/1.1", "OPTIONS * HTTP/1.1", "GET /a b HTTP/1.1",
          "GET /\xc3\xa4 HTTP/1.1", "GET /\t HTTP/1.1", "GET /\x7f HTTP/1.1"}) {
        CAPTURE(line);
        CHECK(refused(line + host) == 400);
    }
    for (const auto* version : {"HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 ", "HTTP/1.10"}) {
        CAPTURE(version);
        CHECK(refused(std::string("GET / ") + version + host) >= 400);
    }
    CHECK(refused("GET / HTTP/2.0" + host) == 505);
    CHECK(refused("GET / HTTP/0.9" + host) == 505);
    CHECK(refused("GET / HTTP/1.1" + host) == 0);
}

TEST_CASE("an absolute target is taken apart, and its host counts")
{
    const auto head = head_of("POST HTTP://one:80/mcp?a HTTP/1.1\r\nHost: other\r\nA: b\r\n\r\n");
    CHECK(head.path == "/mcp");
    CHECK(head.query == "a");
    REQUIRE(head.fields.size() == 2);
    CHECK(*head.find("host") == "one:80");
    CHECK(head_of("GET http://one HTTP/1.1\r\nHost: one\r\n\r\n").path == "/");
    CHECK(*head_of("GET http://[::1]:8/x HTTP/1.0\r\n\r\n").find("host") == "[::1]:8");
    CHECK(refused("GET http://one/ HTTP/1.1\r\n\r\n") == 400); // Host must be sent all the same
}

TEST_CASE("a target and headers have limits")
{
    const transport::HttpHeadLimits limits{.bytes = 100, .fields = 3, .target = 8};
    CHECK(refused("GET /1234567 HTTP/1.1\r\nHost: a\r\n\r\n", limits) == 0);
    CHECK(refused("GET /12345678 HTTP/1.1\r\nHost: a\r\n\r\n", limits) == 414);
    CHECK(refused(head_with("A: 1\r\nA: 2\r\n"), limits) == 0);
    CHECK(refused(head_with("A: 1\r\nA: 2\r\nA: 3\r\n"), limits) == 431);
}

TEST_CASE("what two readers could take for two different requests is refused")
{
    for (const auto* line :
         {"A : 1\r\n", "A\r\n", ": 1\r\n", " A: 1\r\n", "A: 1\r\n B: 2\r\n", "A: 1\r\n\tB: 2\r\n",
          "A: 1\nB: 2\r\n", "A: 1\rB: 2\r\n", "A: \x01\r\n", "A: \x7f\r\n", "A\xc3\xa4: 1\r\n",
          "A\t: 1\r\n", "A: 1\n\r\n"}) {
        CAPTURE(line);
        CHECK(refused(head_with(line)) == 400);
    }
    CHECK(refused(head_with(std::string("A: \0b\r\n", 7))) == 400);
    CHECK(refused("GET / HTTP/1.1\nHost: a\n\n") == 400);
    CHECK(refused("GET / HTTP/1.1\r\nHost: a\r\n") == 400); // it does not end
    CHECK(refused(head_with("A: \xc3\xa4\tb\r\n")) == 0);
}

TEST_CASE("a second header of one that decides is refused, whatever its letters and values")
{
    for (const auto* name :
         {"Accept-Encoding", "Authorization", "Berth-Session", "Connection", "Content-Encoding",
          "Content-Length", "Content-Type", "Expect", "Host", "Mcp-Method", "Mcp-Name",
          "MCP-Protocol-Version", "Mcp-Session-Id", "Origin", "Transfer-Encoding", "traceparent"}) {
        CAPTURE(name);
        const auto small = in_small_letters(name);
        CHECK(refused(head_with(std::string(name) + ": 1\r\n" + small + ": 1\r\n")) == 400);
    }
    CHECK(refused(head_with("Cookie: 1\r\nCookie: 1\r\n")) == 0);
}

TEST_CASE("the host of a request must be said, but in HTTP/1.0")
{
    CHECK(refused("GET / HTTP/1.1\r\nA: b\r\n\r\n") == 400);
    CHECK(refused("GET / HTTP/1.0\r\nA: b\r\n\r\n") == 0);
    CHECK(refused("GET / HTTP/1.1\r\nHost:\r\n\r\n") == 0);
}

TEST_CASE("a body has one length, in plain digits")
{
    for (const auto* length : {"", "-1", "+1", "0x10", "1 2", "1,1", "1.0", "a",
                               "18446744073709551616", "99999999999999999999999"}) {
        CAPTURE(length);
        CHECK(refused(head_with(std::string("Content-Length: ") + length + "\r\n")) == 400);
    }
    CHECK(head_of(head_with("Content-Length: 18446744073709551615\r\n")).content_length ==
          18446744073709551615U);
    const auto none = head_of(head_with("Content-Length: 0\r\n"));
    CHECK(none.content_length == 0);
    CHECK_FALSE(none.has_body());
}

TEST_CASE("of the codings of a transfer only chunks are read, and of content none")
{
    const auto chunked = head_of(head_with("Transfer-Encoding: Chunked\r\n"));
    CHECK(chunked.chunked);
    CHECK(chunked.has_body());
    for (const auto* coding : {"gzip, chunked", "identity", "chunked, chunked", "xchunked", ""}) {
        CAPTURE(coding);
        CHECK(refused(head_with(std::string("Transfer-Encoding: ") + coding + "\r\n")) == 501);
    }
    CHECK(refused(head_with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n")) == 400);
    CHECK(refused(head_with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")) == 400);
    CHECK(refused(head_with("Transfer-Encoding: chunked\r\n", "HTTP/1.0")) == 400);
    CHECK(refused(head_with("Content-Encoding: gzip\r\n")) == 415);
    CHECK(refused(head_with("Content-Encoding: Identity\r\n")) == 0);
}

TEST_CASE("nothing is expected but to be told to go on")
{
    CHECK(head_of(head_with("Expect: 100-Continue\r\n")).expects_continue);
    CHECK(refused(head_with("Expect: 200-ok\r\n")) == 417);
}
