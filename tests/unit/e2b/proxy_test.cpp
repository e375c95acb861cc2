#include "sandbox/base/error.hpp"
#include "sandbox/e2b/proxy.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

using berth::Error;
using berth::ErrorCode;
using berth::e2b::Endpoint;
using berth::e2b::Proxy;
using berth::e2b::ProxyRules;

namespace {

using Environment = std::map<std::string, std::string>;

ProxyRules rules_of(const Environment& environment)
{
    return ProxyRules::read([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found != environment.end() ? std::optional(found->second) : std::nullopt;
    });
}

std::string proxy_for(const ProxyRules& rules, const Endpoint& endpoint)
{
    const auto proxy = rules.for_endpoint(endpoint);
    return proxy ? proxy->host + ':' + std::to_string(proxy->port) : "none";
}

const Endpoint e2b{.host = "api.e2b.app", .prefix = {}};
const Endpoint plain{.tls = false, .host = "box.example", .port = 80, .prefix = {}};

} // namespace

TEST_CASE("each scheme has its proxy, and small letters count first")
{
    const auto rules = rules_of(
        {{"HTTPS_PROXY", "http://a:3128"}, {"HTTP_PROXY", "b"}, {"https_proxy", "http://c:3128/"}});
    CHECK(proxy_for(rules, e2b) == "c:3128");
    CHECK(proxy_for(rules, plain) == "b:80");
    CHECK(proxy_for(rules_of({}), e2b) == "none");
    CHECK(proxy_for(rules_of({{"HTTPS_PROXY", ""}}), e2b) == "none");
    CHECK(proxy_for(rules_of({{"HTTP_PROXY", "b"}}), e2b) == "none");
}

TEST_CASE("this host is never asked for through a proxy")
{
    const auto rules = rules_of({{"HTTP_PROXY", "b"}, {"HTTPS_PROXY", "a"}});
    CHECK(proxy_for(rules, {.tls = false, .host = "127.0.0.1", .port = 4000, .prefix = {}}) ==
          "none");
    CHECK(proxy_for(rules, {.host = "localhost", .prefix = {}}) == "none");
}

TEST_CASE("a proxy may want a user and a password")
{
    const auto rules = rules_of({{"HTTPS_PROXY", "http://u%40x:p%3aw@proxy:8080"}});
    const auto proxy = rules.for_endpoint(e2b);
    REQUIRE(proxy);
    CHECK(*proxy == Proxy{.host = "proxy", .port = 8080, .user = "u@x", .password = "p:w"});
}

TEST_CASE("NO_PROXY names hosts, what is below them, ports, or everything")
{
    const auto with = [](const std::string& no_proxy) {
        return rules_of({{"HTTPS_PROXY", "a:1"}, {"NO_PROXY", no_proxy}});
    };
    for (const std::string none : {"*", "e2b.app", ".e2b.app", "x, API.E2B.APP ,y", "api.e2b.app",
                                   "e2b.app:443", "x,,e2b.app"}) {
        CAPTURE(none);
        CHECK(proxy_for(with(none), e2b) == "none");
    }
    for (const std::string some :
         {"", " ", ",", "b.app", "2b.app", "e2b.app:8443", "i.e2b.app", "api.e2b.app.example"}) {
        CAPTURE(some);
        CHECK(proxy_for(with(some), e2b) == "a:1");
    }
}

TEST_CASE("a proxy that is written wrongly is named by its variable, and not quoted")
{
    for (const std::string value : {"https://secret:3128", "socks5://secret", "http://u:secret@",
                                    "http://secret/path", "http://u:secret%2@h", "sec ret"}) {
        CAPTURE(value);
        try {
            static_cast<void>(rules_of({{"https_proxy", value}}));
            FAIL("taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK(std::string(error.what()).find("https_proxy") != std::string::npos);
            CHECK((error.what() + error.hint()).find("secret") == std::string::npos);
        }
    }
}
