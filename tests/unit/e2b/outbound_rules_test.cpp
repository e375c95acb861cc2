#include "sandbox/base/error.hpp"
#include "sandbox/e2b/outbound_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

/// Empty when nothing is refused.
std::string refusal(const std::vector<std::string>& allow, const std::vector<std::string>& deny)
{
    try {
        e2b::require_outbound({.allow = allow, .deny = deny});
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
    return {};
}

bool names(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("addresses, ranges and domains that E2B takes")
{
    CHECK(refusal({}, {}).empty());
    CHECK(
        refusal({"1.2.3.4", "10.0.0.0/8", "2001:db8::1", "2001:db8::/32"}, {"0.0.0.0/0"}).empty());
    CHECK(refusal({"pypi.org", "*.pypi.org", "a-b.example"}, {}).empty());
    CHECK(refusal({"pypi.org"}, {"10.0.0.0/8", "0.0.0.0/0"}).empty());
    CHECK(refusal({"1.2.3.4"}, {"10.0.0.0/8"}).empty());
    CHECK(refusal({"0.0.0.0/0"}, {}).empty());
}

TEST_CASE("what E2B would refuse with each sandbox is refused at the start")
{
    for (const auto* const wrong :
         {"", "not a host!", "300.1.1.1", "1.2.3", "1.2.3.4/33", "1.2.3.4/", "1.2.3.4/x",
          "2001:db8::/129", "*.", "*", "a..b", "-a.b", "https://pypi.org", "pypi.org:443"}) {
        CAPTURE(wrong);
        CHECK(names(refusal({wrong}, {}), std::string("\"") + wrong + '"'));
    }
    for (const auto* const wrong : {"example.com", "300.1.1.1", "10.0.0.0/40", ""}) {
        CAPTURE(wrong);
        CHECK(names(refusal({}, {wrong}), std::string("\"") + wrong + '"'));
    }
    CHECK(names(refusal({"pypi.org"}, {"10.0.0.0/8"}), "does not deny the rest"));
    for (const auto* const nowhere : {"0.0.0.0", "0.0.0.0/8", "::", "::/0"}) {
        CAPTURE(nowhere);
        CHECK(names(refusal({nowhere}, {}), "e2b.allow_out"));
        CHECK(names(refusal({}, {nowhere}), "begins at no address"));
    }
}
