#include "sandbox/guest/search/file_types.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/search/search_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

#include <sys/stat.h>

using berth::Error;
using berth::ErrorCode;
using berth::tests::error_of;
using berth::tests::SearchTree;

TEST_CASE("grep: arguments that cannot be")
{
    const SearchTree tree;
    mkfifo((tree.path() + "/fifo").c_str(), 0600);
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .path = "none"}); }) ==
          ErrorCode::not_found);
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .path = "fifo"}); }) ==
          ErrorCode::not_a_file);
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .type = "pyy"}); }) ==
          ErrorCode::invalid_argument);
    try {
        (void)tree.grep({.pattern = "a", .type = std::string("\0y", 2)});
        FAIL("an unknown type was taken");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) == "unknown file type \"\\x00y\"");
    }
    for (const char* nothing : {"/", "!", "//", "!/"}) {
        CAPTURE(nothing);
        CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .include = {nothing}}); }) ==
              ErrorCode::invalid_argument);
    }
    try {
        (void)tree.grep({.pattern = "a", .type = std::string(100'000, 'y')});
        FAIL("an unknown type was taken");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).size() < 100);
    }
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .include = {"[a"}}); }) ==
          ErrorCode::invalid_argument);
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .before = 100'000}); }) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("grep: an unknown file type is told which was probably meant")
{
    struct Case {
        const char* type;
        const char* hint;
    };

    const Case cases[] = {
        {"C", "did you mean c? known types that begin alike: c, clojure"},
        {"Python", "did you mean py? known types that begin alike: pascal, perl, php"},
        {"TS", "did you mean ts?"},
        {"rutS", "did you mean rust?"},
        {"C,h", "a type is one name; did you mean c? known types that begin alike: c, clojure"},
        {"c, h", "a type is one name; did you mean c?"},
        {",", "a type is one name; types are names such as c, py or rust; or give `include` globs"},
        {"\x01", "types are names such as c, py or rust; or give `include` a glob"},
    };
    for (const auto& one : cases) {
        CAPTURE(std::string(one.type));
        try {
            (void)berth::guest::search::file_type_globs(one.type);
            FAIL("an unknown type was taken");
        } catch (const Error& error) {
            CHECK(error.hint().substr(0, std::string(one.hint).size()) == one.hint);
        }
    }
}
