#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/filter_rules.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::error_of;

namespace {

using Texts = std::vector<std::string>;

Texts allowed_by(const Texts& allow, const Texts& deny = {})
{
    const auto outbound = e2b::outbound_of({.allow = allow, .deny = deny, .inner = {}});
    CHECK(outbound.deny == Texts{"0.0.0.0/0"});
    return outbound.allow;
}

/// Empty when it is not refused.
std::string refusal_of(const Texts& allow, const Texts& deny = {}, const Texts& inner = {})
{
    try {
        (void)e2b::outbound_of({.allow = allow, .deny = deny, .inner = inner});
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return std::string(error.what()) + '\n' + error.hint();
    }
    return {};
}

bool says(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("rules of a filtered network in E2B's words, and the rest is denied")
{
    CHECK(allowed_by({"PyPI.org", "*.Example.com", "*"}) ==
          Texts{"pypi.org", "*.example.com", "*"});
    CHECK(allowed_by({"203.0.113.7:*", "198.41.0.0/24:1-65535", "0.0.0.0/0:*"}) ==
          Texts{"203.0.113.7", "198.41.0.0/24", "0.0.0.0/0"});
}

TEST_CASE("what E2B cannot keep of an allowed thing is refused, with what to say instead")
{
    CHECK(says(refusal_of({"pypi.org", "a.example:443"}), "\"a.example:443\""));
    CHECK(says(refusal_of({"a.example:443"}), "Write \"a.example\""));
    CHECK(says(refusal_of({"*.a.example:*"}), "Write \"*.a.example\""));
    CHECK(says(refusal_of({"*:22"}), "Write \"*\""));
    CHECK(says(refusal_of({"203.0.113.0/24"}), "Write \"203.0.113.0/24:*\""));
    CHECK(says(refusal_of({"203.0.113.7:443"}), "keeps addresses to no ports"));
    CHECK(says(refusal_of({"203.0.113.7:2-65535"}), "keeps addresses to no ports"));
    CHECK(says(refusal_of({"[2001:db8::1]:*"}), "no IPv6"));
    CHECK(says(refusal_of({"0.0.0.0/8:*"}), "begins at no address"));
    CHECK(says(refusal_of({"pypi.org"}, {}, {"10.0.0.0/8"}), "filter.private has \"10.0.0.0/8\""));
}

TEST_CASE("of what is denied that is taken which nothing allows")
{
    for (const auto& [allow, deny] : std::vector<std::pair<Texts, Texts>>{
             {{"pypi.org"}, {"example.com", "*.pypi.org", "notpypi.org"}},
             {{"*.example.com"}, {"example.com", "*.example.org", "*.anexample.com"}},
             {{"*.example.com"}, {"a.example.com:22", "*:1-79", "*:444-65535"}},
             {{"pypi.org"}, {"10.0.0.0/8", "169.254.169.254", "fe80::/64", "127.0.0.0/8:80"}},
             {{"203.0.113.0/24:*"}, {"203.0.114.0/24"}}}) {
        CAPTURE(allow.front());
        CHECK(refusal_of(allow, deny).empty());
    }
}

TEST_CASE("what is denied of something that is allowed E2B would let through, so it is refused")
{
    for (const auto& [allow, deny] : std::vector<std::pair<std::string, std::string>>{
             {"pypi.org", "pypi.org"},
             {"pypi.org", "*"},
             {"pypi.org", "*.org:443"},
             {"*.example.com", "a.example.com"},
             {"*.example.com", "*.a.example.com:80"},
             {"*.a.example.com", "*.example.com"},
             {"*", "*.example.com:1-80"},
             {"*", "a.example"},
             // A name may lead to an address, and an address may be asked for by a name.
             {"pypi.org", "203.0.113.7"},
             {"pypi.org", "2001:db8::/32"},
             {"203.0.113.0/24:*", "a.example:22"},
             {"203.0.113.0/24:*", "203.0.113.7:22"},
             {"203.0.113.7:*", "203.0.113.0/24"}}) {
        CAPTURE(allow);
        CAPTURE(deny);
        const auto refusal = refusal_of({"unconcerned.invalid", allow}, {deny});
        CHECK(says(refusal, "filter.deny has \"" + deny + '"'));
    }
}

TEST_CASE("a filtered network is asked of E2B, and no proxy of berth's is told to commands")
{
    sandbox::MachineSpec spec;
    spec.network = sandbox::Network::filtered;
    spec.filter.allow = {"pypi.org"};
    const auto network = e2b::box_request(spec).network;
    CHECK(network.internet);
    CHECK(network.allow_out == Texts{"pypi.org"});
    CHECK(network.deny_out == Texts{"0.0.0.0/0"});
    const auto environment = e2b::guest_config(spec).environment;
    CHECK_FALSE(environment.contains("HTTPS_PROXY"));
    CHECK_FALSE(environment.contains("PIP_RETRIES"));
    spec.filter.allow = {"pypi.org:443"};
    CHECK(error_of([&] { (void)e2b::box_request(spec); }) == ErrorCode::invalid_argument);
}
