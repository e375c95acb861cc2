#include "sandbox/base/error.hpp"
#include "sandbox/e2b/endpoint.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::Error;
using berth::ErrorCode;
using berth::e2b::Endpoint;
using berth::e2b::is_host_name;
using berth::e2b::parse_endpoint;
using berth::tests::error_of;

TEST_CASE("an endpoint is a scheme, a host, a port and a path")
{
    CHECK(parse_endpoint("https://api.e2b.app", "X") ==
          Endpoint{.tls = true, .host = "api.e2b.app", .port = 443, .prefix = {}});
    CHECK(parse_endpoint("http://127.0.0.1:4000/", "X") ==
          Endpoint{.tls = false, .host = "127.0.0.1", .port = 4000, .prefix = {}});
    CHECK(parse_endpoint("http://box/a/b//", "X") ==
          Endpoint{.tls = false, .host = "box", .port = 80, .prefix = "/a/b"});
    CHECK(parse_endpoint("https://[::1]:8443/x", "X") ==
          Endpoint{.tls = true, .host = "::1", .port = 8443, .prefix = "/x"});
}

TEST_CASE("what is shown of an endpoint leads there again")
{
    for (const std::string url : {"https://api.e2b.app", "http://127.0.0.1:4000", "http://box/a/b",
                                  "https://[::1]:8443/x", "http://[::1]"}) {
        CAPTURE(url);
        CHECK(parse_endpoint(url, "X").shown() == url);
    }
}

TEST_CASE(
    "an endpoint that is written wrongly is refused by the name of its setting, and not quoted")
{
    for (const std::string url :
         {"", "secret", "ftp://secret", "https://", "https://secret:0", "https://secret:65536",
          "https://secret:1x", "https://se cret", "https://user@secret", "https://[::1secret",
          "https://[secret]", "https://[::1]secret", "https://-secret", "https://secret..x",
          "https://x/secret?a", "https://x/sec ret", "https://x/secret\r\nX: y"}) {
        CAPTURE(url);
        try {
            static_cast<void>(parse_endpoint(url, "E2B_API_URL"));
            FAIL("taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            const std::string said = error.what() + error.hint();
            CHECK(said.find("E2B_API_URL") != std::string::npos);
            CHECK(said.find("secret") == std::string::npos);
        }
    }
}

TEST_CASE("this host is known by its name and its numbers")
{
    const auto is_loopback = [](const std::string& host) {
        return Endpoint{.host = host, .prefix = {}}.is_loopback();
    };
    CHECK(is_loopback("localhost"));
    CHECK(is_loopback("a.localhost"));
    CHECK(is_loopback("127.0.0.1"));
    CHECK(is_loopback("127.9.9.9"));
    CHECK(is_loopback("::1"));
    CHECK_FALSE(is_loopback("128.0.0.1"));
    CHECK_FALSE(is_loopback("localhost.example"));
    CHECK_FALSE(is_loopback("notlocalhost"));
    CHECK_FALSE(is_loopback("127.example"));
}

TEST_CASE("a name of a host has nothing in it that begins something else")
{
    CHECK(is_host_name("e2b.app"));
    CHECK(is_host_name("a_b-c.d"));
    for (const std::string name :
         {"", ".a", "a.", "a..b", "-a", "a/b", "a:1", "a@b", "a b", "a\n", "\xc3\xa4"}) {
        CAPTURE(name);
        CHECK_FALSE(is_host_name(name));
    }
    CHECK(is_host_name(std::string(253, 'a')));
    CHECK_FALSE(is_host_name(std::string(254, 'a')));
}
