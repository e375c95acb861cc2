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
