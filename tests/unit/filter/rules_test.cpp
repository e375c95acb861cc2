#include "sandbox/base/error.hpp"
#include "sandbox/filter/rules.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using berth::ErrorCode;
using berth::filter::Address;
using berth::filter::Rules;
using berth::filter::target_of;

namespace {

/// The kind of denial; "yes" where there is none, "none" of what is no target.
std::string judged(const Rules& rules, const std::string& host, std::uint16_t port)
{
    const auto target = target_of(host, port);
    if (!target) {
        return "none";
    }
    const auto denial = rules.judge(*target);
    return denial ? denial->kind : "yes";
}

} // namespace

TEST_CASE("what is no rule is refused with what is wrong")
{
    for (const std::string text : {"",
                                   "https://example.com",
                                   "example.com/path",
                                   "example.com:",
                                   "example.com:0",
                                   "example.com:65536",
                                   "example.com:9-8",
                                   "example.com:80-",
                                   "a b",
                                   "exa*mple.com",
                                   "*.",
                                   "**",
                                   "*.*.com",
                                   ".example.com",
                                   "example.com.",
                                   "1.2.3.4/33",
                                   "127.1",
                                   "0x7f.1",
                                   "[::1",
                                   "[::1]443",
                                   "bücher.example",
                                   "user@example.com",
                                   "-:80:90x"}) {
        CAPTURE(text);
        CHECK(berth::tests::error_of([&] { berth::filter::require_rule(text, true); }) ==
              ErrorCode::invalid_argument);
    }
    for (const std::string text : {"0.0.0.0/0", "8.8.8.8", "169.254.169.254", "10.0.0.0/7", "::/0",
                                   "example.com", "fe80::1", "::ffff:10.0.0.1"}) {
        CAPTURE(text);
        CHECK(berth::tests::error_of([&] { berth::filter::require_inner_range(text); }) ==
              ErrorCode::invalid_argument);
    }
    berth::filter::require_inner_range("127.0.0.1");
    berth::filter::require_inner_range("10.1.0.0/16");
}

TEST_CASE("names and ports")
{
    const Rules rules({"example.com", "*.example.org", "git.example.net:22", "Up.Example:8000-8100",
                       "any.example:*"},
                      {"bad.example.org", "*.worse.example.org", "any.example:25"}, {});

    struct Row {
        std::string host;
        std::uint16_t port;
        std::string verdict;
    };

    const std::vector<Row> rows{
        {"example.com", 443, "yes"},
        {"example.com", 80, "yes"},
        {"EXAMPLE.com", 443, "yes"},
        {"example.com", 22, "port"},
        {"www.example.com", 443, "domain"},
        {"notexample.com", 443, "domain"},
        {"example.com.evil.example", 443, "domain"},
        {"example.com.", 443, "none"},
        {"a.example.org", 443, "yes"},
        {"a.b.example.org", 443, "yes"},
        {"example.org", 443, "domain"},
        {"evilexample.org", 443, "domain"},
        {"bad.example.org", 443, "domain"},
        {"worse.example.org", 443, "yes"},
        {"a.worse.example.org", 443, "domain"},
        {"git.example.net", 22, "yes"},
        {"git.example.net", 443, "port"},
        {"up.example", 8000, "yes"},
        {"up.example", 8100, "yes"},
        {"up.example", 8101, "port"},
        {"any.example", 1, "yes"},
        {"any.example", 25, "domain"},
        {"93.184.216.34", 443, "address"},
        {"xn--bcher-kva.example", 443, "domain"},
        {"b\xc3\xbc"
         "cher.example",
         443, "none"},
        {"user@example.com", 443, "none"},
        {"127.1", 443, "none"},
        {"0x7f000001", 443, "none"},
        {"2130706433", 443, "none"},
        {"0177.0.0.1", 443, "none"},
        {"a..example.com", 443, "none"},
        {"exa mple.com", 443, "none"},
        {std::string("example.com\0.evil", 17), 443, "none"},
        {"[example.com]", 443, "none"},
        {"", 443, "none"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.host);
        CAPTURE(row.port);
        CHECK(judged(rules, row.host, row.port) == row.verdict);
    }
}

TEST_CASE("addresses that are asked for as such")
{
    const Rules rules(
        {"*", "93.184.216.0/24", "10.0.0.0/8:8080", "169.254.169.254", "0.0.0.0/0:53"},
        {"93.184.216.99"}, {"10.1.0.0/16"});
    CHECK(judged(rules, "93.184.216.34", 443) == "yes");
    CHECK(judged(rules, "93.184.216.34", 25) == "port");
    CHECK(judged(rules, "93.184.216.99", 443) == "domain");
    CHECK(judged(rules, "8.8.8.8", 443) == "port");
    CHECK(judged(rules, "8.8.8.8", 53) == "yes");
    CHECK(judged(rules, "10.1.2.3", 8080) == "yes");
    CHECK(judged(rules, "10.2.2.3", 8080) == "address");
    CHECK(judged(rules, "169.254.169.254", 80) == "address");
    CHECK(judged(rules, "[::ffff:93.184.216.34]", 443) == "address");
    CHECK(judged(rules, "[::1]", 443) == "address");
    CHECK(judged(rules, "anything.example", 443) == "yes");
}

TEST_CASE("where a name leads is judged again")
{
    const Rules rules({"*"}, {"198.41.0.0/16"}, {"127.0.0.0/8"});
    const auto target = target_of("example.com", 443).value();

    struct Row {
        std::string address;
        bool goes;
    };

    for (const auto& row : std::vector<Row>{{"93.184.216.34", true},
                                            {"198.41.0.4", false},
                                            {"127.0.0.1", true},
                                            {"::1", false},
                                            {"10.0.0.1", false},
                                            {"169.254.169.254", false},
                                            {"::ffff:93.184.216.34", false}}) {
        CAPTURE(row.address);
        const auto denial = rules.judge_resolved(target, Address::parse(row.address).value());
        CHECK(denial.has_value() == !row.goes);
        if (denial) {
            CHECK(denial->target == "example.com:443");
            CHECK(denial->reason.find(row.address) != std::string::npos);
        }
    }
}

TEST_CASE("a denial says what was asked for, why not, and what can be done")
{
    const Rules rules({"example.com"}, {}, {});
    const auto denial = rules.judge(target_of("2001:DB8::7", 443).value());
    REQUIRE(denial);
    CHECK(denial->target == "[2001:db8::7]:443");
    CHECK(denial->remedy.find("\"[2001:db8::7]:443\" to filter.allow") != std::string::npos);
    berth::filter::require_rule("[2001:db8::7]:443", true); // what it says can be done
}
