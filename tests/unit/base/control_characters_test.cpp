#include "sandbox/base/control_characters.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <doctest/doctest.h>

#include <array>
#include <iterator>
#include <random>
#include <string>

namespace utf8 = berth::utf8;
using berth::ControlCharacters;
using berth::first_unit;
using berth::show;
using berth::shown_characters;

namespace {

std::string stripped(const std::string& text)
{
    return show(text, ControlCharacters::strip).text;
}

std::string escaped(const std::string& text)
{
    return show(text, ControlCharacters::escape).text;
}

} // namespace

TEST_CASE("escape: what a terminal would obey is written, lines and tabs stay")
{
    CHECK(escaped("\x1b[31mred\x1b[0m\n") == "\\x1b[31mred\\x1b[0m\n");
    CHECK(escaped("a\tb\r\nc\r") == "a\tb\r\nc\r");
    CHECK(escaped("a\r\r\nb\r\r") == "a\r\r\nb\r\r");
    CHECK(escaped("a\rb\r\rc") == "a\\x0db\\x0d\\x0dc");
    CHECK(escaped(std::string(9, '\r') + "\n") == "\\x0d" + std::string(8, '\r') + "\n");
    CHECK(escaped("a\bb\x7f\x07") == "a\\x08b\\x7f\\x07");
    CHECK(escaped("\u009b2J\u202egnp\ufeff") == "\\u009b2J\\u202egnp\\ufeff");
    CHECK(escaped("caf\xe9 café €") == "caf\\xe9 café €");
    CHECK(escaped(std::string("\0", 1)) == "\\x00");
    CHECK(show("\x1b[31m", ControlCharacters::escape).sequences == 0);
}

TEST_CASE("pass: as it came, as UTF-8")
{
    const auto shown = show("\x1b[31m\u202e\xff\r\b", ControlCharacters::pass);
    CHECK(shown.text == "\x1b[31m\u202e\ufffd\r\b");
    CHECK(shown.sequences == 0);
}

TEST_CASE("strip: escape sequences go and are counted, everything else stays")
{
    const auto shown = show("\x1b[1;38;5;196mred\x1b[0m \x1b[Kend", ControlCharacters::strip);
    CHECK(shown.text == "red end");
    CHECK(shown.sequences == 3);
    CHECK(stripped("\x1b]0;title\x07text") == "text");
    CHECK(stripped("\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\!") == "link!");
    CHECK(stripped("\x1b(B\x1b=\x1b[?25l\x1b[>4;1mtext\x1bM\u009b2Jmore") == "textmore");
    CHECK(stripped("a\b\x07\u202e\xff") == "a\\x08\\x07\\u202e\\xff");
    CHECK(stripped("\x1b[" + std::string(255, '1') + "mtext") == "text");
    CHECK(stripped("\x1b[" + std::string(256, '1') + "m") == std::string(256, '1') + "m");
    CHECK(stripped("\x1b[3") == ""); // cut off by the end
    CHECK(stripped("\x1b") == "");
    CHECK(stripped("a\rb\r\n") == "a\\x0db\r\n");
}

TEST_CASE("strip: a sequence without its end takes no text with it")
{
    CHECK(stripped("\x1b]0;no end\nnext line") == "0;no end\nnext line");
    CHECK(stripped("\x1b[31\nnext") == "\nnext");
    CHECK(stripped("\x1b\nnext") == "\nnext");
    CHECK(stripped("\x1bPq" + std::string(5000, 'x') + "\x1b\\").size() == 5001);
    CHECK(stripped("\x1b[31é") == "é");
}

TEST_CASE("the characters are counted as they are written, and none is cut")
{
    static const std::string pieces[] = {"\r",     "\n",     "\t",       "a",
                                         "é",      "😀",     "\xff",     "\xe2",
                                         "\x1b",   "\x1b[3", "\x1b[31m", "\x1b]0;",
                                         "\x07",   "\u202e", "\x80",     "\x1b]0;t",
                                         "\u009b", "m",      "\x1b\\",   std::string(1, '\0')};
    std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    std::uniform_int_distribution<std::size_t> piece(0, std::size(pieces) - 1);
    constexpr std::array treatments = {ControlCharacters::strip, ControlCharacters::escape,
                                       ControlCharacters::pass};
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (int i = round % 30; i > 0; --i) {
            text += pieces[piece(random)];
        }
        for (const auto treatment : treatments) {
            const auto shown = show(text, treatment);
            REQUIRE(utf8::is_valid(shown.text));
            REQUIRE(utf8::count(shown.text) == shown_characters(text, treatment));
            REQUIRE(utf8::count(shown.text) <= berth::escaped_count(text));
            REQUIRE((treatment == ControlCharacters::pass ||
                     shown.text.find('\x1b') == std::string::npos));
            for (std::size_t at = 0; at < text.size();) {
                const auto unit = first_unit(std::string_view(text).substr(at), treatment);
                REQUIRE(unit.bytes > 0);
                at += unit.bytes;
                REQUIRE(at <= text.size());
            }
        }
    }
}
