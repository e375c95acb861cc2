#include "sandbox/base/glob_pattern.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::ErrorCode;
using berth::expand_braces;
using berth::GlobPattern;
using berth::tests::error_of;

namespace {

struct Case {
    const char* pattern;
    const char* path;
    bool matches;
};

constexpr Case cases[] = {
    {"*.c", "a.c", true},
    {"*.c", "deep/er/a.c", true},
    {"*.c", "a.cc", false},
    {"*.c", ".c", true},
    {"/*.c", "a.c", true},
    {"/*.c", "d/a.c", false},
    {"src/*.c", "src/a.c", true},
    {"src/*.c", "src/d/a.c", false},
    {"src/*.c", "x/src/a.c", false},
    {"src/**", "src/a", true},
    {"src/**", "src/d/e/a", true},
    {"src/**", "src", false},
    {"**/a", "a", true},
    {"**/a", "x/y/a", true},
    {"x/**/a", "x/a", true},
    {"x/**/a", "x/y/z/a", true},
    {"x/**/a", "xy/a", false},
    {"x/**/y/**/a", "x/1/y/2/y/a", true},
    {"x/**/y/**/a", "x/1/2/a", false},
    {"**", "a/b", true},
    {"a**b", "a12b", true},
    {"a**/b", "a/x/b", false},
    {"?", "a", true},
    {"?", "ab", false},
    {"?", "\xC3\xA4", true},
    {"?", "\xFF", true},
    {"a?b/c", "a/b/c", false},
    {"[a-c]", "b", true},
    {"[a-c]", "d", false},
    {"[!a-c]", "d", true},
    {"[^a-c]", "b", false},
    {"[]x]", "]", true},
    {"[!]]", "a", true},
    {"[a-]", "-", true},
    {"[\\]]", "]", true},
    {"[[:digit:]_]", "_", true},
    {"[[:digit:]_]", "7", true},
    {"[[:xdigit:]]", "g", false},
    {"[\xC3\xA0-\xC3\xBC]", "\xC3\xA4", true},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\[a]", "[a]", true},
    {"*a*b*c", "xxaxxbxxc", true},
    {"*a*b*c", "xxbxxaxxc", false},
    {"{a,b}.c", "b.c", true},
    {"{a,b}.c", "c.c", false},
    {"{a,{b,c}d}", "cd", true},
    {"{a/b,c}/*.h", "a/b/x.h", true},
    {"{a/b,c}/*.h", "c/x.h", true},
    {"{,x}a", "a", true},
    {"[{]", "{", true},
    {"\\{a,b\\}", "{a,b}", true},
    {"a\\,b", "a,b", true},
    {"{a\\,b,c}", "a,b", true},
};

} // namespace

TEST_CASE("a single dot between slashes is nothing, as in a path")
{
    using berth::GlobPattern;
    for (const char* pattern : {"a/./y.c", "a/././y.c", "./a/./*.c", "**/./y.c"}) {
        CAPTURE(pattern);
        const auto glob = GlobPattern::compile(pattern);
        CHECK(glob.matches("a/y.c"));
        CHECK(glob.may_match_below("a"));
        CHECK_FALSE(glob.matches("a/b"));
    }
    CHECK_FALSE(GlobPattern::compile("a/.").matches("a")); // a directory
    // In an ignore file it is a name, as git takes it.
    CHECK_FALSE(
        GlobPattern::compile("a/./y.c", {.braces = false, .anchored = true}).matches("a/y.c"));
}

TEST_CASE("glob patterns")
{
    for (const Case& one : cases) {
        CAPTURE(one.pattern);
        CAPTURE(one.path);
        CHECK(GlobPattern::compile(one.pattern).matches(one.path) == one.matches);
    }
}

TEST_CASE("a bad glob pattern is refused and says where")
{
    for (const char* pattern : {"", "[a", "a{b", "b}", "a\\", "[z-a]", "{a,{b}"}) {
        CAPTURE(pattern);
        CHECK(error_of([&] { (void)GlobPattern::compile(pattern); }) ==
              ErrorCode::invalid_argument);
    }
    CHECK_THROWS_WITH((void)GlobPattern::compile("ab[c"),
                      "bad glob pattern: '[' is never closed at character 3");
    std::string bomb;
    for (int i = 0; i < 40; ++i) {
        bomb += "{a,b}";
    }
    CHECK(error_of([&] { (void)expand_braces(bomb); }) == ErrorCode::invalid_argument);
    for (const std::string& pattern : {std::string(), std::string("[a"), std::string("{a"), bomb}) {
        CAPTURE(pattern);
        try {
            (void)GlobPattern::compile(pattern, {.braces = true, .anchored = false});
            FAIL("it was taken");
        } catch (const berth::Error& error) {
            CHECK_FALSE(error.hint().empty());
        }
    }
}

TEST_CASE("no pattern takes exponential time")
{
    std::string pattern;
    std::string components;
    for (int i = 0; i < 60; ++i) {
        pattern += "*a";
        components += "**/a/";
    }
    CHECK_FALSE(GlobPattern::compile(pattern + "b").matches(std::string(4000, 'a')));
    std::string path;
    for (int i = 0; i < 1000; ++i) {
        path += "a/";
    }
    CHECK_FALSE(GlobPattern::compile(components + "b").matches(path + "c"));
    // Of one alternative each, so that the result stays small; and with much to look through.
    std::string groups;
    for (int i = 0; i < 1000; ++i) {
        groups += "{}";
    }
    const auto refused = [](const std::string& glob) {
        return error_of([&] { (void)GlobPattern::compile(glob); }) == ErrorCode::invalid_argument;
    };
    CHECK(refused("{" + std::string(2000, '[') + groups + "}"));
    CHECK(refused(std::string(2000, '[') + groups));
    CHECK(refused("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" + groups));
    CHECK(GlobPattern::compile(groups + "a").matches("a"));
}

TEST_CASE("a walk is pruned only where nothing can match")
{
    const GlobPattern glob = GlobPattern::compile("src/*/x/**/*.c");
    CHECK(glob.may_match_below("src"));
    CHECK(glob.may_match_below("src/a"));
    CHECK(glob.may_match_below("src/a/x"));
    CHECK(glob.may_match_below("src/a/x/y/z"));
    CHECK_FALSE(glob.may_match_below("doc"));
    CHECK_FALSE(glob.may_match_below("src/a/y"));
    CHECK(GlobPattern::compile("*.c").may_match_below("any/where"));
    CHECK_FALSE(GlobPattern::compile("src/*.c").may_match_below("src/deep"));
}
