#include "server/http/host_rules.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using server::HttpOptions;
using server::http::HostRules;

namespace {

/// Whether a request of these may call; an empty text: it has none.
bool lets_in(const HostRules& rules, const std::string& host, const std::string& origin = "")
{
    transport::HttpHead head;
    if (!host.empty()) {
        head.fields.emplace_back("host", host);
    }
    if (!origin.empty()) {
        head.fields.emplace_back("origin", origin);
    }
    const auto why = rules.refusal(head);
    // What the request said is not said again: it is a stranger's.
    CHECK(why.find("evil") == std::string::npos);
    return why.empty();
}

const HttpOptions on_loopback{.address = "127.0.0.1:0"};
const HttpOptions on_unix{.unix_path = "/run/berth.sock"};

} // namespace

TEST_CASE("on a port only the names of this host are taken, with any port")
{
    const HostRules rules(on_loopback, "127.0.0.2");
    for (const auto* host : {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:8931", "[::1]",
                             "[::1]:8931", "127.0.0.2", "127.0.0.2:1", "localhost:", ""}) {
        CAPTURE(host);
        CHECK(lets_in(rules, host));
    }
    for (const auto* host :
         {"evil.example.com", "evil.example.com:80", "localhost.evil.example.com", "xlocalhost",
          "127.0.0.3", "::1", "[::2]", "localhost.", "[::1", "a@localhost", "127.0.0.1.evil.com",
          "localhost:x", "localhost:80/evil", "localhost:80@evil.com", "127.0.0.1:-1"}) {
        CAPTURE(host);
        CHECK_FALSE(lets_in(rules, host));
    }
}

TEST_CASE("a web page may call only from this host, or where it was named")
{
    const HostRules rules(on_loopback, "127.0.0.1");
    for (const auto* origin : {"http://localhost", "http://localhost:3000", "https://127.0.0.1:1",
                               "HTTP://LOCALHOST:80", "http://[::1]:80"}) {
        CAPTURE(origin);
        CHECK(lets_in(rules, "localhost", origin));
    }
    for (const auto* origin :
         {"http://evil.example.com", "https://evil.example.com", "null", "localhost",
          "ftp://localhost", "http://", "http://localhost.evil.example.com", "file://",
          "http://evil.example.com:80", "chrome-extension://evil"}) {
        CAPTURE(origin);
        CHECK_FALSE(lets_in(rules, "localhost", origin));
    }
    CHECK_FALSE(lets_in(rules, "evil.example.com", "http://localhost"));
}

TEST_CASE("the address of IPv6 is known in its brackets")
{
    const HostRules rules(on_loopback, "::2");
    CHECK(lets_in(rules, "[::2]:80"));
    CHECK(lets_in(rules, "[::2]"));
    CHECK_FALSE(lets_in(rules, "::2"));
    CHECK_FALSE(lets_in(rules, "[::3]"));
}

TEST_CASE("names and origins that are given are taken too, in any letters")
{
    auto options = on_loopback;
    options.hosts = {"MCP.example.com"};
    options.origins = {"https://Chat.example.com", "https://chat.example.com:8443"};
    const HostRules rules(options, "127.0.0.1");
    CHECK(lets_in(rules, "mcp.EXAMPLE.com:443"));
    CHECK(lets_in(rules, "localhost"));
    CHECK_FALSE(lets_in(rules, "example.com"));
    CHECK(lets_in(rules, "localhost", "https://chat.example.COM"));
    CHECK(lets_in(rules, "localhost", "https://chat.example.com:8443"));
    CHECK_FALSE(lets_in(rules, "localhost", "https://chat.example.com:8444"));
    CHECK_FALSE(lets_in(rules, "localhost", "http://chat.example.com"));
}

TEST_CASE("behind a proxy or on a unix socket any host is taken, but not any origin")
{
    auto proxied = on_loopback;
    proxied.behind_proxy = true;
    for (const auto& options : {proxied, on_unix}) {
        const HostRules rules(options, options.unix_path.empty() ? "0.0.0.0" : "");
        CHECK(lets_in(rules, "anything.example.com"));
        CHECK_FALSE(lets_in(rules, "localhost", "http://anything.example.com"));
        CHECK_FALSE(lets_in(rules, "anything.example.com", "http://anything.example.com"));
        CHECK(lets_in(rules, "anything.example.com", "http://localhost"));
        CHECK_FALSE(lets_in(rules, "localhost", "null"));
    }
    proxied.hosts = {"mcp.example.com"}; // then it is looked at here
    const HostRules rules(proxied, "0.0.0.0");
    CHECK(lets_in(rules, "mcp.example.com"));
    CHECK_FALSE(lets_in(rules, "anything.example.com"));
}

TEST_CASE("an origin that may call is said again as browsers write it, and no other is")
{
    auto options = on_loopback;
    options.origins = {"https://App.example.com"};
    const HostRules rules(options, "127.0.0.1");
    const auto origin = [&](const std::string& said) {
        transport::HttpHead head;
        head.fields.emplace_back("origin", said);
        return rules.origin_of(head);
    };
    CHECK(origin("HTTPS://app.example.com") == "https://app.example.com");
    CHECK(origin("http://localhost:3000") == "http://localhost:3000");
    CHECK(origin("http://[::1]:80") == "http://[::1]:80");
    CHECK(origin("http://localhost") == "http://localhost");
    CHECK(rules.origin_of({}).empty());
    for (const auto* said : {"null", "https://app.example.com:1", "http://localhost:", "http://",
                             "http://localhost:80x", "http://localhost:1234567",
                             "http://localhost: 80", "http://evil.com", "h", ""}) {
        CAPTURE(said);
        CHECK(origin(said).empty());
    }
}

TEST_CASE("without authentication a page of this host's other servers may not read")
{
    HttpOptions options;
    options.origins = {"https://app.example.com"};
    const auto page = [&](const std::string& said) {
        transport::HttpHead head;
        head.fields.emplace_back("origin", said);
        return HostRules(options, "127.0.0.1").page_origin(head);
    };
    CHECK(page("http://localhost:3000") == "http://localhost:3000");
    options.no_auth = true;
    CHECK(page("http://localhost:3000").empty());
    CHECK(page("https://app.example.com") == "https://app.example.com");
    CHECK(page("https://evil.example.com").empty());
}
