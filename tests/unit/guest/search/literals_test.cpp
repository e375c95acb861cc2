#include "sandbox/guest/search/literal_set.hpp"
#include "sandbox/guest/search/required_literals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using berth::guest::search::LiteralSet;
using berth::guest::search::required_literals;

namespace {

std::size_t naive(std::string_view text, const std::vector<std::string>& literals, std::size_t from)
{
    std::size_t best = std::string_view::npos;
    for (const std::string& literal : literals) {
        best = std::min(best, text.find(literal, from));
    }
    return best;
}

std::string joined(std::string_view pattern)
{
    const auto found = required_literals(pattern);
    if (!found) {
        return "-";
    }
    std::string all = found->whole ? "=" : "";
    for (const std::string& literal : found->any_of) {
        all += (all.size() > 1 ? "|" : "") + literal;
    }
    return all;
}

} // namespace

TEST_CASE("a literal is found at every offset and every distance from the end")
{
    for (const std::string literal : {"x", "xy", "xyz", "needle in hay", "\xC3\xA4"}) {
        const LiteralSet set({literal}, false);
        for (std::size_t at = 0; at < 100; ++at) {
            const std::string text = std::string(at, '.') + literal + std::string(100 - at, '.');
            CHECK(set.find(text, 0).at == at);
            CHECK(set.find(text, at).at == at);
            CHECK_FALSE(set.find(text, at + 1));
            CHECK(set.find(std::string_view(text).substr(0, at + literal.size()), 0).at == at);
            CHECK_FALSE(set.find(std::string_view(text).substr(0, at + literal.size() - 1), 0));
        }
    }
}

TEST_CASE("several literals agree with a naive search")
{
    std::uint32_t state = 7;
    const auto random = [&state](std::uint32_t below) {
        state = state * 1664525U + 1013904223U;
        return (state >> 16U) % below;
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> literals(1 + random(12));
        for (std::string& literal : literals) {
            literal.resize(1 + random(4));
            std::ranges::generate(literal, [&] { return static_cast<char>('a' + random(4)); });
        }
        std::string text(random(300), '\n');
        std::ranges::generate(text, [&] { return static_cast<char>('a' + random(8)); });
        const LiteralSet set(literals, false);
        const std::size_t from = text.empty() ? 0 : random(static_cast<std::uint32_t>(text.size()));
        const LiteralSet::Hit hit = set.find(text, from);
        CHECK(static_cast<bool>(hit) == (naive(text, literals, from) != std::string::npos));
        if (hit) {
            CHECK(hit.at >= from);
            CHECK(std::ranges::count(literals, text.substr(hit.at, hit.size)) > 0);
        }
    }
}

TEST_CASE("both cases of a letter")
{
    const LiteralSet set({"NeeDle_1"}, true);
    CHECK(set.find("..nEEdLE_1..", 0).at == 2);
    CHECK_FALSE(set.find("..nEEdLE\x7F"
                         "1..",
                         0));
}

TEST_CASE("what a match cannot do without")
{
    CHECK(joined("foo") == "=foo");
    CHECK(joined("foo|bar") == "=foo|bar");
    CHECK(joined("a\\.b") == "=a.b");
    CHECK(joined("foo.*longer") == "longer");
    CHECK(joined("foo+") == "foo");
    CHECK(joined("foo*") == "fo");
    CHECK(joined("foo?x") == "fo");
    CHECK(joined("foo{0,2}") == "fo");
    CHECK(joined("foo{2}") == "foo");
    CHECK(joined("(abc|def)+x") == "abc|def");
    CHECK(joined("(abc|def)?xy") == "xy");
    CHECK(joined("(abc|d*)e") == "e");
    CHECK(joined("[abc]+") == "-");
    CHECK(joined("[]a]bc") == "bc");
    CHECK(joined("[[:alpha:]]bc") == "bc");
    CHECK(joined("a||b") == "-");
    CHECK(joined("") == "-");
    CHECK(joined("\\bfoo\\b") == "foo");
    CHECK(joined("^foo$") == "foo");
    CHECK(joined("(?i)foo") == "-");
    CHECK(joined("(?:foo)") == "foo");
    CHECK(joined("(?P<name>foo)bar1") == "bar1");
    CHECK(joined("\\Qa.b\\E") == "-");
    CHECK(joined("\\x41bc") == "-");
    CHECK(joined("\\pLabc") == "-");
    CHECK(joined("\xC3\xA4+bc") == "\xC3\xA4");
}
