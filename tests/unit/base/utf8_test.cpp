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
         {"\u00ad", "\u034f",     "\u061c",     "\u115f",     "\u180e",    "\u200b",
          "\u200e", "\u200f",     "\u2028",     "\u2029",     "\u202a",    "\u202e",
          "\u2060", "\u2066",     "\u2069",     "\u206f",     "\u3164",    "\ufeff",
          "\ufff9", "\U0001d173", "\U000e0001", "\U000e007f", "\U000e0100"}) {
        CAPTURE(mark);
        CHECK_FALSE(utf8::is_control(mark));
        CHECK(utf8::is_deceptive(mark));
    }
    for (const char* harmless : {" ", "~", "\u00a0", "\u00ac", "\u00ae", "\u00e9", "\u200c",
                                 "\u200d", "\u2013", "\u2027", "\u202f", "\u2070", "\u4e2d",
                                 "\ufe0f", "\ufffd", "\U0001f600", "\U000e1000", "\U0010ffff"}) {
        CAPTURE(harmless);
        CHECK_FALSE(utf8::is_deceptive(harmless));
        CHECK_FALSE(utf8::has_control(harmless));
    }
}
