#include "sandbox/guest/search/ignore_rules.hpp"

#include <doctest/doctest.h>

#include <stop_token>
#include <string>

using berth::guest::search::IgnoreRules;
using berth::guest::search::RuleBudget;
using berth::guest::search::RuleLease;
using berth::guest::search::SearchLimits;
using berth::guest::search::Verdict;

namespace {

struct Case {
    const char* rules;
    const char* path;
    bool is_directory;
    Verdict verdict;
};

constexpr Case cases[] = {
    {"*.o\n", "a.o", false, Verdict::ignored},
    {"*.o\n", "d/a.o", false, Verdict::ignored},
    {"*.o\n!keep.o\n", "d/keep.o", false, Verdict::kept},
    {"!keep.o\n*.o\n", "keep.o", false, Verdict::ignored},
    {"/a\n", "a", false, Verdict::ignored},
    {"/a\n", "d/a", false, Verdict::none},
    {"d/a\n", "x/d/a", false, Verdict::none},
    {"d/a\n", "d/a", false, Verdict::ignored},
    {"build/\n", "build", true, Verdict::ignored},
    {"build/\n", "build", false, Verdict::none},
    {"build/\n", "x/build", true, Verdict::ignored},
    {"x/build/\n", "y/x/build", true, Verdict::none},
    {"a/**\n", "a/b", false, Verdict::ignored},
    {"a/**\n", "a", true, Verdict::none},
    {"**/a\n", "x/y/a", false, Verdict::ignored},
    {"a/**/b\n", "a/b", false, Verdict::ignored},
    {"# a\n\\#a\n", "#a", false, Verdict::ignored},
    {"# a\n", "# a", false, Verdict::none},
    {"\\!a\n", "!a", false, Verdict::ignored},
    {"a   \n", "a", false, Verdict::ignored},
    {"a\\ \n", "a ", false, Verdict::ignored},
    {"a\r\n", "a", false, Verdict::ignored},
    {"\xEF\xBB\xBF"
     "a\n",
     "a", false, Verdict::ignored},
    {"a", "a", false, Verdict::ignored},
    {"\n\n/\n", "a", true, Verdict::none},
    {"[a\nb\n", "b", false, Verdict::ignored},
    {"[a\n", "[a", false, Verdict::none},
    {"{a,b}\n", "a", false, Verdict::none},
    {"{a,b}\n", "{a,b}", false, Verdict::ignored},
    {"*\n!*/\n", "d", true, Verdict::kept},
    {"*\n!*/\n", "d", false, Verdict::ignored},
    {"//a\n", "a", false, Verdict::none},
    {"d//a\n", "d/a", false, Verdict::none},
    {"d//\n", "d", true, Verdict::none},
    // To git and ripgrep `?` and a set are a byte, and an ä has two.
    {"a?b\n", "a\u00e4b", false, Verdict::none},
    {"a??b\n", "a\u00e4b", false, Verdict::ignored},
    {"a[!x]b\n", "a\u00e4b", false, Verdict::none},
    {"a[!x][!x]b\n", "a\u00e4b", false, Verdict::ignored},
    {"a[\u00e4]b\n", "a\u00e4b", false, Verdict::none},
    {"a[\u00e4][\u00e4]b\n", "a\u00e4b", false, Verdict::ignored},
    {"[\xc0-\xff]?.c\n", "\u00e4.c", false, Verdict::ignored},
    {"[\xc0-\xff]?.c\n", "ab.c", false, Verdict::none},
    {"a*b\n", "a\u00e4b", false, Verdict::ignored},
    {"\u00e4*\n", "\u00e4b", false, Verdict::ignored},
    {"\\\u00e4?\n", "\u00e4b", false, Verdict::ignored},
};

} // namespace

TEST_CASE("rules of ignore files")
{
    for (const Case& one : cases) {
        CAPTURE(one.rules);
        CAPTURE(one.path);
        IgnoreRules rules;
        rules.add_file(one.rules);
        CHECK(rules.match(one.path, one.is_directory) == one.verdict);
    }
}

namespace {

std::string lines(const std::string& line, std::size_t count)
{
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
        all += line;
    }
    return all;
}

} // namespace

TEST_CASE("an ignore file has so many rules at most, comments and empty lines do not count")
{
    IgnoreRules all;
    CHECK(all.add_file(lines("#\n\n", 50'000) + lines("a\n", IgnoreRules::max_file_rules)));
    IgnoreRules most;
    CHECK_FALSE(most.add_file(lines("a\n", IgnoreRules::max_file_rules) + "b\n"));
    CHECK(most.match("a", false) == Verdict::ignored);
    CHECK(most.match("b", false) == Verdict::none);
}

TEST_CASE("rules take of a budget by what they cost, and give it back")
{
    RuleBudget budget;
    const std::string half = lines("*[ab]/?\n", RuleBudget::max_of_walk / 6 / 2);
    {
        RuleLease lease(budget);
        CHECK(IgnoreRules().add_file(half, &lease));
        RuleLease second(budget);
        CHECK(IgnoreRules().add_file(half, &second));
        RuleLease third(budget);
        CHECK_FALSE(IgnoreRules().add_file(half, &third));
    }
    RuleLease again(budget);
    CHECK(IgnoreRules().add_file(half, &again));
}

TEST_CASE("walks share a budget")
{
    RuleBudget first;
    RuleBudget second;
    RuleBudget third;
    REQUIRE(first.take(RuleBudget::max_of_walk));
    REQUIRE(second.take(RuleBudget::max_of_walk));
    CHECK_FALSE(third.take(1));
    first.give_back(RuleBudget::max_of_walk);
    CHECK(third.take(1));
    third.give_back(1);
    second.give_back(RuleBudget::max_of_walk);
}

TEST_CASE("thousands of rules do not hold up a stop")
{
    IgnoreRules rules;
    REQUIRE(rules.add_file("!x\n" + lines("*a*b\n", 1000)));
    std::stop_source stop;
    SearchLimits limits(stop.get_token(), 0);
    CHECK(rules.match("cb", false, &limits) == Verdict::none);
    stop.request_stop();
    CHECK(rules.match("cb", false, &limits) == Verdict::ignored);
}
