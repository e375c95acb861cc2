#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/search/search_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::Error;
using berth::ErrorCode;
using berth::tests::error_of;
using berth::tests::SearchTree;

TEST_CASE("grep: a newline among others, or none of them, is no newline that is asked for")
{
    const SearchTree tree;
    tree.write("f", "foo bar\nfoo\nbar\n");
    CHECK(tree.grep({.pattern = "foo[^\\n]*bar"}).total_matches == 1);
    CHECK(tree.grep({.pattern = "[ \\n]bar"}).total_matches == 1);
    CHECK(tree.grep({.pattern = "foo\\\\n"}).total_matches == 0);
    CHECK(tree.grep({.pattern = "\\Qfoo\\n\\E"}).total_matches == 0);
}

TEST_CASE("grep: the ends of the text are those of each line")
{
    const SearchTree tree;
    tree.write("f", "foo bar\nfoo\nbar\n");
    for (const char* pattern : {"\\Afo[o]", "(?-m)^fo[o]", "(?-m:^foo)", "(?i-m)^FOO"}) {
        CAPTURE(pattern);
        CHECK(tree.grep({.pattern = pattern}).total_matches == 2);
        CHECK(tree.grep({.pattern = pattern, .only_matching = true}).total_matches == 2);
        CHECK(tree.grep({.pattern = pattern, .multiline = true}).total_matches == 1);
    }
    for (const char* pattern : {"ba[r]\\z", "(?-m)ba[r]$"}) {
        CAPTURE(pattern);
        CHECK(tree.grep({.pattern = pattern}).total_matches == 2);
        CHECK(tree.grep({.pattern = pattern, .only_matching = true}).total_matches == 2);
    }
}

TEST_CASE("grep: any byte of a line is not the end of the one before")
{
    const SearchTree tree;
    tree.write("f", "foo bar\nfoo\nbar\n");
    CHECK(tree.grep({.pattern = "\\Cbar"}).total_matches == 1);
    CHECK(tree.grep({.pattern = "\\Cbar", .multiline = true}).total_matches == 3);
}

TEST_CASE("grep: a bad pattern names what is unsupported")
{
    const SearchTree tree;
    const auto message = [&](const char* pattern) {
        try {
            (void)tree.grep({.pattern = pattern});
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message("(?<=a)b") == "bad pattern: look-around ((?<) is not supported");
    CHECK(message("a(?!b)").find("look-around") != std::string::npos);
    CHECK(message("(?<n>a)").find("named with (?<name>") != std::string::npos);
    CHECK(message("(?P<n>a)").empty());
    CHECK(message("(a)\\1") == "bad pattern: backreferences (\\1) are not supported");
    CHECK(message("f(o").find("missing )") != std::string::npos);
    CHECK(message("*").find("repetition operator: *") != std::string::npos);
    CHECK(message("+").find("repetition operator: +") != std::string::npos);
    CHECK(message("(?:\\pL{20}){20}").find("bad pattern") != std::string::npos);
    for (const char* newline :
         {"a\\nb", "a\nb", "a\\x0ab", "a\\x{a}", "a\\012", "[\\n]", "\\Qa\nb\\E"}) {
        CAPTURE(newline);
        CHECK(message(newline).find("multiline") != std::string::npos);
    }
    CHECK(message("a\\\\nb").empty());
}
