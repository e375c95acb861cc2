#include "sandbox/filter/request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using berth::filter::BadRequest;
using berth::filter::Request;

namespace {

/// 0 of what is taken.
unsigned status_of(const std::string& head)
{
    try {
        (void)berth::filter::read_request(head);
        return 0;
    } catch (const BadRequest& bad) {
        CHECK_FALSE(bad.reason.empty());
        return bad.status;
    }
}

} // namespace

TEST_CASE("where a CONNECT goes")
{
    const auto request =
        berth::filter::read_request("CONNECT Example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(request.form == Request::Form::tunnel);
    CHECK(request.target.to_text() == "example.com:443");
    CHECK(
        berth::filter::read_request("CONNECT [2001:DB8::1]:22 HTTP/1.0\r\n\r\n").target.to_text() ==
        "[2001:db8::1]:22");
    for (const std::string address :
         {"example.com", "example.com:", "example.com:0", "example.com:65536", "example.com:+443",
          "user@example.com:443", "https://example.com:443", "2001:db8::1:443", "[example.com]:443",
          "example.com.:443", "example.com:443:443", "", "/"}) {
        CAPTURE(address);
        CHECK(status_of("CONNECT " + address + " HTTP/1.1\r\n\r\n") == 400);
    }
}

TEST_CASE("a plain request goes on to the one server it names")
{
    const auto request = berth::filter::read_request(
        "POST http://Example.com:8080/a/b?c=d#e HTTP/1.1\r\nHost: other.example\r\n"
        "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n"
        "Connection: X-Own, Content-Length\r\nX-Own: 1\r\nAccept:  */* \r\nContent-Length: "
        "5\r\n\r\n");
    CHECK(request.form == Request::Form::plain);
    CHECK(request.target.to_text() == "example.com:8080");
    CHECK(request.body == 5);
    CHECK(berth::filter::head_of(request) ==
          "POST /a/b?c=d HTTP/1.1\r\nHost: Example.com:8080\r\nConnection: close\r\n"
          "Accept: */*\r\nContent-Length: 5\r\n\r\n");

    const auto bare = berth::filter::read_request("GET HTTP://example.com?q HTTP/1.1\r\n\r\n");
    CHECK(bare.target.to_text() == "example.com:80");
    CHECK(head_of(bare).starts_with("GET /?q HTTP/1.1\r\n"));
    CHECK(bare.body == 0);
    CHECK_FALSE(berth::filter::read_request("POST http://a.example/ HTTP/1.1\r\n"
                                            "Transfer-Encoding: Chunked\r\n\r\n")
                    .body);
}

TEST_CASE("a server hears which version of HTTP its client reads")
{
    // To one of HTTP/1.1 it may answer in chunks.
    const std::string old = "GET http://a.example/x HTTP/1.0\r\n";
    CHECK(head_of(berth::filter::read_request(old + "\r\n")) ==
          "GET /x HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    const auto target = berth::filter::target_of("a.example", 443).value();
    CHECK(
        head_of(berth::filter::read_request_to("GET / HTTP/1.0\r\nHost: a.example\r\n\r\n", target))
            .starts_with("GET / HTTP/1.0\r\n"));
    CHECK(status_of(old + "Transfer-Encoding: chunked\r\n\r\n") == 400);
}

TEST_CASE("a user in an address is told as such")
{
    for (const std::string head : {"GET http://user:secret@a.example/ HTTP/1.1\r\n\r\n",
                                   "CONNECT a.example@b.example:443 HTTP/1.1\r\n\r\n"}) {
        try {
            (void)berth::filter::read_request(head);
            FAIL("it was taken");
        } catch (const BadRequest& bad) {
            CHECK(bad.reason.find("user") != std::string::npos);
        }
    }
}

TEST_CASE("what servers may read in two ways is not taken")
{
    const std::string get = "GET http://a.example/ HTTP/1.1\r\n";
    const std::vector<std::string> heads{
        "GET / HTTP/1.1\r\n\r\n",
        "GET https://a.example/ HTTP/1.1\r\n\r\n",
        "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "GET http://a.example:443/ HTTP/1.1\r\n\r\n",
        "GET http://user:secret@a.example/ HTTP/1.1\r\n\r\n",
        "GET http://a.example:x/ HTTP/1.1\r\n\r\n",
        "GET http://127.1/ HTTP/1.1\r\n\r\n",
        "GET http://a.example/ HTTP/2\r\n\r\n",
        "GET http://a.example/ x HTTP/1.1\r\n\r\n",
        "GET http://a.example/\r\n\r\n",
        "\r\n\r\n",
        "G@T http://a.example/ HTTP/1.1\r\n\r\n",
        get + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        get + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        get + "Content-Length: +5\r\n\r\n",
        get + "Content-Length: 5, 5\r\n\r\n",
        get + "Content-Length: 99999999999999999999\r\n\r\n",
        get + "Content-Length: 18446744073709551615\r\n\r\n",
        get + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        get + "Bad Name: x\r\n\r\n",
        get + "Folded: x\r\n y\r\n\r\n",
        get + "Colon : x\r\n\r\n",
        get + "none\r\n\r\n",
        get + "X: a\nTransfer-Encoding: chunked\r\n\r\n",
        get + "X: a\rb\r\n\r\n",
        get + std::string("X: a\0b\r\n\r\n", 10),
    };
    for (const auto& head : heads) {
        CAPTURE(head);
        CHECK(status_of(head) == 400);
    }
    CHECK(status_of(get + "Transfer-Encoding: gzip\r\n\r\n") == 501);
    CHECK(status_of(get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          501);
}

TEST_CASE("a request inside of a tunnel goes where the tunnel goes")
{
    const auto target = berth::filter::target_of("a.example", 8443).value();
    const auto request = berth::filter::read_request_to(
        "GET /x?y#z HTTP/1.1\r\nHost: A.example:8443\r\nConnection: keep-alive\r\nX: 1\r\n\r\n",
        target);
    CHECK(berth::filter::head_of(request) ==
          "GET /x?y HTTP/1.1\r\nHost: A.example:8443\r\nConnection: close\r\nX: 1\r\n\r\n");
    CHECK(request.target.to_text() == "a.example:8443");
    for (const std::string head :
         {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: b.example:8443\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a.example:8443\r\nHost: a.example:8443\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a.example:8443\r\nHost: b.example\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a.example:8443, b.example\r\n\r\n",
          "GET / HTTP/1.1\r\nHost:\r\n\r\n",
          "GET https://a.example:8443/ HTTP/1.1\r\nHost: a.example:8443\r\n\r\n",
          "GET http://b.example/ HTTP/1.1\r\nHost: a.example:8443\r\n\r\n",
          "CONNECT /x HTTP/1.1\r\nHost: a.example:8443\r\n\r\n",
          "OPTIONS * HTTP/1.1\r\nHost: a.example:8443\r\n\r\n"}) {
        CAPTURE(head);
        try {
            (void)berth::filter::read_request_to(head, target);
            FAIL("it was taken");
        } catch (const BadRequest& bad) {
            CHECK((bad.status == 400 || bad.status == 421));
        }
    }
}
