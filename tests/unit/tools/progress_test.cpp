#include "sandbox/base/utf8.hpp"
#include "tools/progress.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace berth;        // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::tools; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

std::string lines_of(const std::string& text, std::uint64_t total = 0,
                     ControlCharacters treatment = ControlCharacters::strip)
{
    return last_lines({.text = text, .total_bytes = total == 0 ? text.size() : total}, treatment);
}

} // namespace

TEST_CASE("progress: the last lines that say something")
{
    CHECK(lines_of("").empty());
    CHECK(lines_of("\n\n \t\n").empty());
    CHECK(lines_of("one").compare("one") == 0);
    CHECK(lines_of("one\ntwo\n") == "one\ntwo");
    CHECK(lines_of("one\ntwo\nthree\nfour\n") == "two\nthree\nfour");
    CHECK(lines_of("one\n\n\ntwo  \n\n") == "one\ntwo");
    CHECK(lines_of("one\r\ntwo\r\n") == "one\ntwo");
}

TEST_CASE("progress: a bar as it stands")
{
    CHECK(lines_of("begin\n 1%\r 50%\r 99%") == "begin\n 99%");
    CHECK(lines_of(" 1%\r 50%\r") == " 50%");
    CHECK(lines_of("done 100%\r          \r") == "");
    CHECK(lines_of("done 100%\r          \rnext\n") == "next");
}

TEST_CASE("progress: control characters are what they are in the output")
{
    const std::string red = "a \x1b[31mred\x1b[0m\x07";
    CHECK(lines_of(red) == "a red\\x07");
    CHECK(lines_of(red, 0, ControlCharacters::escape) == "a \\x1b[31mred\\x1b[0m\\x07");
    CHECK(lines_of(red, 0, ControlCharacters::pass) == red);
    CHECK(lines_of("\xff", 0, ControlCharacters::pass) == "\ufffd");
    // A line of sequences alone says nothing, nor do blanks in front of one.
    CHECK(lines_of("said  \x1b[0m\n\x1b[2K \x1b[1G\n") == "said");
    CHECK(lines_of("50%\r\x1b[2K\x1b[32m60%") == "60%");
    CHECK(lines_of("a\nstep 1\x1b[2K\x1b[1Gstep 2\x1b[2K\x1b[1G") == "a\nstep 2");
}

TEST_CASE("progress: bounded, valid, and nothing that a terminal obeys")
{
    CHECK(lines_of("a\tb\x07") == "a b\\x07");
    CHECK(lines_of("bad \xff byte") == "bad \\xff byte");
    CHECK(lines_of("turned \xe2\x80\xae text") == "turned \\u202e text");
    for (const std::string character : {"x", "ä", "€", "𝄞", "\xff", "\x01"}) {
        std::string text;
        for (int i = 0; i < 1000; ++i) {
            text += character;
        }
        for (const auto& line :
             {text, "first\n" + text + "\n", text + "\nlast", text + "\n" + text}) {
            const auto shown = lines_of(line);
            CHECK(utf8::is_valid(shown));
            CHECK(utf8::count(shown) <= progress_characters);
            CHECK(utf8::count(shown) > progress_characters / 2);
        }
    }
    // The newest line is the one that is shown as far as there is room.
    CHECK(lines_of(std::string(500, 'x') + "\nlast").ends_with("…\nlast"));
    CHECK(lines_of("first\n" + std::string(500, 'x')) == std::string(299, 'x') + "…");
}

TEST_CASE("progress: a text that begins in the middle of a line, or of a character")
{
    CHECK(lines_of("lf a line\nnext\n", 1000) == "…lf a line\nnext");
    CHECK(lines_of("\xa4lf a line\nnext\n", 1000) == "…lf a line\nnext");
    CHECK(lines_of("\xa4lf a line\nnext\n") == "\\xa4lf a line\nnext");
    CHECK(lines_of("0%\r 50%\nnext\n", 1000) == " 50%\nnext");
    CHECK(lines_of("half\na\nb\nc\n", 1000) == "a\nb\nc");
}

TEST_CASE("progress: how far a save or a load is")
{
    std::vector<std::string> told;
    const Progress progress = [&](std::string message) { told.push_back(std::move(message)); };
    TransferProgress transfer(progress);
    transfer.begin("logs/a\n.txt");
    transfer.add(1'500'000);
    transfer.begin(std::string(400, 'x'));
    REQUIRE(told.size() == 3);
    CHECK(told[0] == "logs/a\\x0a.txt\n[1 file · 0 bytes so far]");
    CHECK(told[1] == "logs/a\\x0a.txt\n[1 file · 1.5 MB so far]");
    CHECK(told[2] == std::string(149, 'x') + "…\n[2 files · 1.5 MB so far]");

    const Progress nobody;
    TransferProgress silent(nobody);
    silent.begin("a");
    silent.add(1);
}
