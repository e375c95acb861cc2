#include "sandbox/base/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

TEST_CASE("the number of a character")
{
    CHECK(utf8::code_point("a") == U'a');
    CHECK(utf8::code_point("\u009b") == U'\u009b');
    CHECK(utf8::code_point("\u07ff") == U'\u07ff');
    CHECK(utf8::code_point("\u202e") == U'\u202e');
    CHECK(utf8::code_point("\U0001f600") == U'\U0001f600');
    CHECK(utf8::code_point("\U0010ffff") == U'\U0010ffff');
}

TEST_CASE("what a terminal obeys, and what makes a name look like another")
{
    for (const char* control : {"\x01", "\n", "\x1f", "\x7f", "\u0080", "\u009b", "\u009f"}) {
        CAPTURE(control);
        CHECK(utf8::is_control(control));
        CHECK(utf8::is_deceptive(control));
        CHECK(utf8::has_control(std::string("\u00e9 ") + control + "\u20ac"));
    }
    for (const char* mark :
         {"\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff"}) {
        CAPTURE(mark);
        CHECK_FALSE(utf8::is_control(mark));
        CHECK(utf8::is_deceptive(mark));
    }
    for (const char* harmless : {" ", "~", "\u00a0", "\u00e9", "\u200d", "\u2013", "\u202f",
                                 "\u206a", "\u4e2d", "\U0001f600"}) {
        CAPTURE(harmless);
        CHECK_FALSE(utf8::is_deceptive(harmless));
        CHECK_FALSE(utf8::has_control(harmless));
    }
}

TEST_CASE("characters once those that deceive are escaped")
{
    CHECK(utf8::escaped_count("") == 0);
    CHECK(utf8::escaped_count("a\té€\n") == 5);
    CHECK(utf8::escaped_count("\x1b\r\x7f") == 12);
    CHECK(utf8::escaped_count("\u009b\u202e\ufeff") == 18);
    CHECK(utf8::escaped_count("\xff\xe2\x82") == 12);
}
