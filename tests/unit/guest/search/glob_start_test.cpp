#include "sandbox/guest/search/glob_start.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

using berth::ErrorCode;
using berth::guest::search::with_common_start;
using berth::tests::error_of;

TEST_CASE("alternatives that say where they begin get what they share in front")
{
    CHECK(with_common_start("{/a/*.c,/b/*.c}") == "/{a/*.c,b/*.c}");
    CHECK(with_common_start("{/a/b/*.c,/a/b/d/e}") == "/a/b/{*.c,d/e}");
    CHECK(with_common_start("{/a/bc,/a/bd}") == "/a/{bc,bd}");             // not within a name
    CHECK(with_common_start("{/a/b[/x],/a/b[/y]}") == "/a/{b[/x],b[/y]}"); // nor within a set
    CHECK(with_common_start("{/a,/b}/*.c") == "/{a/*.c,b/*.c}");
    CHECK(with_common_start("{/a/{b,c},/d}") == "/{a/b,a/c,d}");
    CHECK(with_common_start("{/a}") == "/{a}");
    CHECK(with_common_start("{~/a,~/b/c}") == "~/{a,b/c}");
    CHECK(with_common_start("{../a,../../b}") == "../{a,../b}");
    // What stood for itself goes on doing so.
    CHECK(with_common_start("{/a,/b}x,y") == "/{ax\\,y,bx\\,y}");
    CHECK(with_common_start("{/a,/b}\\,[,]\\\\,") == "/{a\\,[,]\\\\\\,,b\\,[,]\\\\\\,}");
}

TEST_CASE("other patterns stay as they are")
{
    for (const char* pattern : {"", "*.c", "a/{b,c}", "{a,b}/*", "/a/{b,c}", "~/{a,b}", "../{a,/b}",
                                "./{a,b}", "\\{/a,/b\\}", "[{]/a", "{,a}", "{./a,b}"}) {
        CAPTURE(pattern);
        CHECK(with_common_start(pattern) == pattern);
    }
}

TEST_CASE("a search begins in one place")
{
    for (const char* pattern :
         {"{/a,b}", "{a,/b}", "{/a,~/b}", "{../a,b}", "{,/a}", "{/a", "x{a,}}"}) {
        CAPTURE(pattern);
        CHECK(error_of([&] { (void)with_common_start(pattern); }) == ErrorCode::invalid_argument);
    }
}
