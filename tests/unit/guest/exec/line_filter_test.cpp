#include "sandbox/base/error.hpp"
#include "sandbox/guest/exec/line_filter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace berth::guest::test {
namespace {

constexpr std::uint64_t plenty = 100'000'000;

LineFilter make(const std::string& pattern, ControlCharacters treatment = ControlCharacters::strip)
{
    return {std::make_shared<search::Matcher>(pattern, search::MatcherOptions{.small = true}),
            treatment, plenty, 0};
}

void add(LineFilter& filter, std::string_view text, std::size_t piece = 65'536)
{
    while (!text.empty()) {
        const auto taken = filter.add(text.substr(0, piece), [] { return false; });
        text.remove_prefix(taken);
    }
}

std::string kept(const LineFilter& filter)
{
    protocol::StreamOutput out;
    filter.kept().put_into(out);
    return out.head + out.tail;
}

/// What is kept of `text`.
std::string filtered(const std::string& text, const std::string& pattern,
                     ControlCharacters treatment = ControlCharacters::strip)
{
    auto filter = make(pattern, treatment);
    add(filter, text);
    filter.finish_line();
    protocol::StreamOutput out;
    filter.kept().put_into(out);
    CHECK(out.total_bytes + filter.filtered_bytes() == text.size());
    return out.head;
}

} // namespace

TEST_CASE("lines with a match are kept, the others counted")
{
    auto filter = make("err.r$");
    add(filter, "one error\ntwo\n\nthree error", 1);
    filter.finish_line();
    CHECK(kept(filter) == "one error\nthree error");
    CHECK(filter.filtered_lines() == 2);
    CHECK(filter.filtered_bytes() == 5);
}

TEST_CASE("what is judged of a line is what is shown of it")
{
    const std::string red = "\x1b[31merror\x1b[0m: x\n";
    CHECK(filtered(red, "^error: x$") == red);
    CHECK(filtered(red, "31m").empty());
    CHECK(filtered(red, R"(^\\x1b\[31merror)", ControlCharacters::escape) == red);
    CHECK(filtered(red, "^error", ControlCharacters::escape).empty());
    CHECK(filtered(red, R"(^\x1b\[31merror)", ControlCharacters::pass) == red);
    CHECK(filtered("a\bb\n", R"(a\\x08b)") == "a\bb\n");
    CHECK(filtered("caf\xe9\n", R"(caf\\xe9)") == "caf\xe9\n");
    CHECK(filtered("caf\xe9\n", "caf\ufffd", ControlCharacters::pass) == "caf\xe9\n");
    CHECK(filtered("one\r\ntwo\r\r\n", "^(one|two)$") == "one\r\ntwo\r\r\n");
}

TEST_CASE("of a line that was rewritten its last state is judged, and shown")
{
    const std::string bar = "10%\r20%\r\x1b[Kdone\n";
    CHECK(filtered(bar, "^done$") == "\x1b[Kdone\n");
    CHECK(filtered(bar, "20%").empty());
    CHECK(filtered("a\r\x1b[31mb\n", "a").empty());
    std::string longer;
    for (int i = 0; i < 100'000; ++i) {
        longer += "\r[#########] " + std::to_string(i);
    }
    CHECK(filtered(longer + "\rend\n", "^end$") == "end\n");
    CHECK(filtered(longer + "\rend\n", "4711").empty());
}

TEST_CASE("a line is judged as one, wherever its pieces begin and end")
{
    const std::string line = std::string(65'533, 'x') + "needle" + std::string(100'000, 'y') + "\n";
    CHECK(filtered(line, "x{3}needley{3}") == line);
    CHECK(filtered(line, "^x+needley+$") == line);
    CHECK(filtered(line, "needle$").empty());
    CHECK(filtered(line, "^needle").empty());
}

TEST_CASE("of a line longer than a window a match is found wherever it lies, and all is kept")
{
    const std::size_t window = make("x").longest_line();
    REQUIRE(window == 262'144);
    for (const std::size_t before : {window - 3, window, window * 3 / 2, window * 5 / 2 - 1}) {
        CAPTURE(before);
        const std::string line = std::string(before, 'x') + "<" + std::string(window / 4 - 2, '-') +
                                 ">" + std::string(window * 2, 'y') + "\n";
        CHECK(filtered("a\n" + line + "b\n", "<-+>") == line);
        CHECK(filtered("a\n" + line + "b\n", "x<-{9}") == line);
        CHECK(filtered("a\n" + line + "b\n", "^b") == "b\n");
    }
}

TEST_CASE("the ends of a window are no ends of a line")
{
    const std::string line(1'500'000, 'x');
    for (const char* pattern : {"^x{3}y", "[^y]x$y", "x{9}\\b.", R"(x\z.)"}) {
        CAPTURE(pattern);
        CHECK(filtered(line + "y\n", pattern).empty());
    }
    CHECK(filtered("y" + line + "z\n", "x$").empty());
    CHECK(filtered("y" + line + "z\n", "^x").empty());
    CHECK(filtered("y" + line + "z\n", "\\bx|x\\b").empty());
    CHECK(filtered("y" + line + "z\n", "z$") == "y" + line + "z\n");
    CHECK(filtered("y" + line + "z\n", "^y") == "y" + line + "z\n");
}

TEST_CASE("a filter with a large program has a smaller window, and leaves no line unjudged")
{
    CHECK_THROWS_AS(make("0.{40}1.{900}x"), Error);
    auto filter = make("[xy]{400}z");
    CHECK(filter.longest_line() < 100'000);
    CHECK(filter.longest_line() > 10'000);
    const std::string line = std::string(200'000, 'a') + std::string(400, 'x') + "z\n";
    CHECK(filtered(line, "[xy]{400}z") == line);
    CHECK(filtered(std::string(300'000, 'a') + "\n", "[xy]{400}z").empty());
}

TEST_CASE("an unfinished line is kept by a match as it stands, else left, or dropped if it is long")
{
    auto filter = make("^a.*b$");
    add(filter, "x\naxx");
    filter.take_match();
    CHECK(kept(filter).empty());
    add(filter, "b");
    filter.take_match();
    CHECK(kept(filter) == "axxb");
    add(filter, "rest");
    filter.take_match();
    CHECK(filter.leave_line() == 4);
    CHECK(filter.leave_line() == 0);
    add(filter, "a");
    filter.drop_line();
    CHECK(filter.filtered_lines() == 2);
    CHECK(filter.filtered_bytes() == 3);
    add(filter, std::string(1'000'000, 'c'));
    filter.take_match();
    CHECK(filter.leave_line() == 0);
    CHECK(filter.filtered_bytes() == 1'000'003);
    CHECK(kept(filter) == "axxb");
}

TEST_CASE("a long line that is undecided is nothing to show yet")
{
    auto filter = make("needle");
    add(filter, std::string(1'000'000, 'c'));
    filter.take_match();
    CHECK_FALSE(filter.has_text());
    add(filter, "needle");
    filter.take_match();
    CHECK(filter.has_text());
    CHECK(kept(filter).size() == 1'000'006);
}

TEST_CASE("a filter leaves behind a line or a window, and goes on there")
{
    auto filter = make("n");
    const std::string text = "one\ntwo\n" + std::string(300'000, 'n') + "\nend";
    std::string_view rest = text;
    int turns = 0;
    for (; !rest.empty(); ++turns) {
        rest.remove_prefix(filter.add(rest, [] { return true; }));
    }
    filter.finish_line();
    CHECK(turns == 5); // two lines, a window, what is left of it, the end
    CHECK(kept(filter) == "one\n" + std::string(300'000, 'n') + "\nend");
}

TEST_CASE("kept and counted are the whole, and right, of lines of any length in any pieces")
{
    std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    const std::size_t window = make("a{3}[xy]{300}?b").longest_line();
    for (int round = 0; round < 100; ++round) {
        std::string text;
        std::string wanted;
        for (int line = 0; line < 4; ++line) {
            std::string one(random() % (3 * window), 'x');
            const bool match = random() % 2 == 0 && one.size() > 400;
            if (match) {
                const auto begin = random() % (one.size() - 303);
                one.replace(begin, 3, "aaa");
                one[begin + 303] = 'b';
            }
            one += "\n";
            text += one;
            wanted += match ? one : "";
        }
        auto filter = make("a{3}[xy]{300}?b");
        add(filter, text, 1 + random() % 70'000);
        REQUIRE(kept(filter) == wanted);
        REQUIRE(filter.filtered_bytes() + wanted.size() == text.size());
    }
}

} // namespace berth::guest::test
