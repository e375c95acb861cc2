#include "server/transport/http_head.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

transport::HttpHead parsed(const std::string& text)
{
    return transport::parse_http_head(text, {});
}

/// 0: it is taken.
int status_of(const std::string& text)
{
    try {
        (void)parsed(text);
    } catch (const transport::HttpError& error) {
        return error.status();
    }
    return 0;
}

const std::string begin = "POST /mcp?a=b HTTP/1.1\r\nHost: localhost\r\n";

} // namespace

TEST_CASE("a head is taken apart as it was sent")
{
    const auto head = parsed(begin + "X-Name: \t a%0d%0ab \r\nContent-Length: 12\r\n\r\n");
    CHECK(head.method == "POST");
    CHECK(head.path == "/mcp");
    CHECK(head.query == "a=b");
    REQUIRE(head.find("x-name") != nullptr);
    CHECK(*head.find("x-name") == "a%0d%0ab"); // nothing is decoded
    CHECK(head.find("X-Name") == nullptr);
    CHECK(head.content_length == 12);
    CHECK(head.has_body());
    CHECK(head.keep_alive);
    CHECK_FALSE(head.is_1_0);
}

TEST_CASE("a connection goes on unless somebody says otherwise, in 1.0 the other way round")
{
    CHECK_FALSE(parsed(begin + "Connection: Close\r\n\r\n").keep_alive);
    CHECK_FALSE(parsed("GET / HTTP/1.0\r\n\r\n").keep_alive);
    CHECK(parsed("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
}

TEST_CASE("how long a body is can be understood in one way only")
{
    CHECK(parsed(begin + "Transfer-Encoding: Chunked\r\n\r\n").chunked);
    CHECK_FALSE(parsed(begin + "Content-Length: 0\r\n\r\n").has_body());
    CHECK(status_of(begin + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n") == 400);
    CHECK(status_of(begin + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
    CHECK(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
    CHECK(status_of(begin + "Transfer-Encoding: identity\r\n\r\n") == 501);
    for (const char* const length : {"", "-1", "+1", "1 2", "0x1", "99999999999999999999"}) {
        CHECK(status_of(begin + "Content-Length: " + length + "\r\n\r\n") == 400);
    }
}

TEST_CASE("what is decided by is there once")
{
    for (const char* const name :
         {"Authorization", "Berth-Session", "Content-Type", "Host", "MCP-Protocol-Version",
          "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Origin"}) {
        const auto twice = std::string(name) + ": a\r\n" + name + ": b\r\n\r\n";
        CHECK(status_of(begin + twice) == 400);
    }
    CHECK(status_of(begin + "Accept: a\r\nAccept: b\r\n\r\n") == 0);
}

TEST_CASE("lines and names that another reader would take for others are refused")
{
    for (const char* const line :
         {"X : a", " X: a", ": a", "X", "X: a\nY: b", "X: a\rb", "(X): a"}) {
        CAPTURE(line);
        CHECK(status_of(begin + line + "\r\n\r\n") == 400);
    }
    CHECK(status_of(begin + std::string("X: a\0b", 6) + "\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400); // no Host
    CHECK(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
    CHECK(status_of("GET / /x HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
    CHECK(status_of("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
    CHECK(status_of("GET  HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/3\r\nHost: a\r\n\r\n") == 505);
}

TEST_CASE("a head is bounded")
{
    std::string many;
    for (int i = 0; i < 99; ++i) {
        many += "X: a\r\n";
    }
    CHECK(status_of(begin + many + "\r\n") == 0);
    CHECK(status_of(begin + many + "X: a\r\n\r\n") == 431);
    CHECK(status_of("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n") == 414);
}

TEST_CASE("codings and expectations that we have not are refused")
{
    CHECK(status_of(begin + "Content-Encoding: gzip\r\n\r\n") == 415);
    CHECK(status_of(begin + "Content-Encoding: identity\r\n\r\n") == 0);
    CHECK(parsed(begin + "Expect: 100-Continue\r\n\r\n").expects_continue);
    CHECK(status_of(begin + "Expect: a-lot\r\n\r\n") == 417);
}
