#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <doctest/doctest.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

TEST_CASE("a name cannot pose as another one, or as another line")
{
    CHECK(visible("/tmp/plain \u00e4 name") == "/tmp/plain \u00e4 name");
    CHECK(visible("é€😀\u4e2d\u2013") == "é€😀\u4e2d\u2013");
    CHECK(visible("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(visible("a\xff\xe2\x82") == "a\\xff\\xe2\\x82");
    CHECK(visible("\u009b2J\u0080\u00a0") == "\\u009b2J\\u0080\u00a0");
    CHECK(visible("a\u202Etxt.exe\u2066\ufeff") == "a\\u202etxt.exe\\u2066\\ufeff");
    CHECK(visible("a\u2028b\u2029\u061c\u200b\u00ad") == "a\\u2028b\\u2029\\u061c\\u200b\\u00ad");
    // Above U+FFFF with eight digits, as C, Python and bash read it back.
    CHECK(visible("a\U000e0041\U000e007fb") == "a\\U000e0041\\U000e007fb");
    // What belongs to how words and emoji are written stays.
    CHECK(visible("👩\u200d💻 ❤\ufe0f") == "👩\u200d💻 ❤\ufe0f");
}

TEST_CASE("of a long text only the beginning is shown, in whole characters")
{
    CHECK(visible_beginning("", 4).empty());
    CHECK(visible_beginning("", 4, "…").empty());
    CHECK(visible_beginning("abcd", 4, "…") == "abcd");
    CHECK(visible_beginning("abcde", 4, "…") == "abcd…");
    CHECK(visible_beginning("abcde", 4) == "abcd");
    CHECK(visible_beginning("abcé", 4, "…") == "abc…");
    CHECK(visible_beginning("abc\n", 4, "…") == "abc\\x0a");
    CHECK(visible_beginning("\u202e\u202e", 5, "…") == "\\u202e…");
}

TEST_CASE("characters once those that deceive are escaped")
{
    CHECK(escaped_count("") == 0);
    CHECK(escaped_count("a\té€\n") == 5);
    CHECK(escaped_count("\x1b\r\x7f") == 12);
    CHECK(escaped_count("\u009b\u202e\ufeff") == 18);
    CHECK(escaped_count("\U000e0041") == 10);
    CHECK(escaped_count("\xff\xe2\x82") == 12);
    for (const char* text : {"plain é", "\x1b[31m\r\x7f", "\u200b\u2028", "\U000e0041\xff"}) {
        CAPTURE(text);
        CHECK(escaped_count(text) == utf8::count(visible(text)));
    }
}
