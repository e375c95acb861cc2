#include "sandbox/protocol/folded_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace berth::protocol::test {
namespace {

constexpr std::uint64_t plenty = 1'000'000;

StreamOutput folded(const std::vector<std::string>& pieces, std::uint64_t head_limit = plenty,
                    std::uint64_t tail_limit = 0)
{
    FoldedText text(head_limit, tail_limit);
    for (const auto& piece : pieces) {
        text.add(piece);
    }
    StreamOutput out;
    text.put_into(out);
    return out;
}

std::string shown(const std::string& text)
{
    return folded({text}).head;
}

std::uint64_t newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

/// The same by other means: over all of the text at once, a line at a time.
struct Reference {
    explicit Reference(std::string_view text)
    {
        while (!text.empty()) {
            const auto newline = text.find('\n');
            const auto line = text.substr(0, newline);
            add_line(line);
            text.remove_prefix(line.size());
            if (!text.empty()) {
                shown += '\n';
                text.remove_prefix(1);
            }
        }
    }

    void add_line(std::string_view line)
    {
        std::vector<std::string> parts{""};
        std::vector<std::size_t> returns; // behind each
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] != '\r') {
                parts.back() += line[i];
            } else {
                const auto end = std::min(line.find_first_not_of('\r', i), line.size());
                returns.push_back(std::min<std::size_t>(end - i, 8));
                bytes += end - i - returns.back();
                parts.emplace_back();
                i = end - 1;
            }
        }
        const bool ends = parts.size() > 1 && parts.back().empty();
        if (ends) {
            parts.pop_back();
        }
        returns.push_back(0);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool last = i + 1 == parts.size();
            if (last || parts[i].find('\0') != std::string::npos || parts[i + 1][0] == '\0') {
                shown += parts[i] + std::string(returns[i], '\r');
            } else {
                bytes += parts[i].size() + returns[i];
                updates += parts[i].empty() ? 0U : 1U;
            }
        }
    }

    std::string shown;
    std::uint64_t bytes = 0;
    std::uint64_t updates = 0;
};

std::string random_text(std::mt19937& random)
{
    static const std::string pieces[] = {
        "\r",   "\r",       "\r\n", "\n",     "a",           "50%",    "é",
        "\xff", "\xe2\x82", "😀",   "\x1b[K", "\x1b[31mred", "line\n", std::string(1, '\0')};
    std::uniform_int_distribution<std::size_t> piece(0, std::size(pieces) - 1);
    std::uniform_int_distribution<int> length(0, 40);
    std::string text;
    for (int i = length(random); i > 0; --i) {
        text += pieces[piece(random)];
    }
    return text;
}

std::vector<std::string> random_pieces(std::mt19937& random, std::string_view text)
{
    std::uniform_int_distribution<std::size_t> size(0, 9);
    std::vector<std::string> pieces;
    while (!text.empty()) {
        const auto piece = text.substr(0, size(random));
        pieces.emplace_back(piece);
        text.remove_prefix(piece.size());
    }
    return pieces;
}

} // namespace

TEST_CASE("of a line that was rewritten the last rewriting is left")
{
    CHECK(shown("10%\r20%\r100%\ndone\n") == "100%\ndone\n");
    CHECK(shown("10%\r20%") == "20%");
    CHECK(shown("a long line\rshort\n") ==
          "short\n"); // the rule, where a terminal shows "shortg li"
    CHECK(shown("one\r\ntwo\r\n") == "one\r\ntwo\r\n");
    CHECK(shown("10%\r20%\r\n") == "20%\r\n");
    CHECK(shown("10%\r20%\r") == "20%\r");
    CHECK(shown("\r10%\r20%\n") == "20%\n");
    CHECK(shown("10%\r\r20%\r\r\n") == "20%\r\r\n");
    CHECK(shown("\r\r\n") == "\r\r\n");
    CHECK(shown("") == "");
}

TEST_CASE("a line that is taken back by an escape sequence is rewritten as one with a return")
{
    CHECK(shown("step 1\x1b[2K\x1b[1Gstep 2\x1b[2K\x1b[1Gstep 3\n") == "step 3\n");
    CHECK(shown("\x1b[1Gstep 1\x1b[Gstep 2\x1b[0Gstep 3\x1b[2K") == "step 3");
    CHECK(shown("10%\r\x1b[2K20%\r\x1b[2K\ndone") == "\ndone"); // erased: nothing was left
    CHECK(shown("10%\x1b[1G\r\nnext") == "10%\r\nnext");
    CHECK(shown("10%\x1b[1G20%\r") == "20%\r");
    CHECK(shown("\x1b[2Kone\n\x1b[2K\x1b[Gtwo\n") == "one\ntwo\n");
    // Others stay.
    for (const char* text : {"a\x1b[K\n", "a\x1b[2Jb", "a\x1b[12Gb", "a\x1b[2mb", "a\x1b[", "\x1b",
                             "a\x1b\x1b[31mb", "a\x1b[2\n"}) {
        CHECK(shown(text) == text);
    }
    const auto out = folded({"one\x1b", "[2", "Ktwo\x1b[1", "Gthr\x1b[", "31mee\x1b"});
    CHECK(out.head == "thr\x1b[31mee\x1b");
    CHECK(out.folded_updates == 2);
    CHECK(out.folded_bytes == 14);
    CHECK(out.total_bytes == 14 + out.head.size());
}

TEST_CASE("property: sequences fold in any pieces alike, and are told before")
{
    static const std::string parts[] = {
        "\x1b[2K", "\x1b[1G", "\x1b[G", "\x1b", "\x1b[",    "2",      "K",
        "G",       "\r",      "\n",     "step", "\x1b[31m", "\x1b[K", std::string(1, '\0')};
    std::mt19937 random(3); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto i = random() % 20; i > 0; --i) {
            text += parts[random() % std::size(parts)];
        }
        CAPTURE(text);
        const auto at_once = folded({text});
        FoldedText piecewise(plenty, 0);
        std::string before;
        bool told = false;
        for (const auto& piece : random_pieces(random, text)) {
            told = told || has_rewriting(before, piece);
            piecewise.add(piece);
            before += piece;
        }
        StreamOutput out;
        piecewise.put_into(out);
        REQUIRE(out.head == at_once.head);
        REQUIRE(out.folded_updates == at_once.folded_updates);
        REQUIRE(out.folded_bytes + out.head.size() == text.size());
        REQUIRE((told || out.folded_bytes == 0));
        REQUIRE(newlines(out.head) == newlines(text));
    }
}

TEST_CASE("what was folded is counted: the bytes, and how often there was something to see")
{
    const auto out = folded({"\r10%\r20%\r\r30%\nrest"});
    CHECK(out.head == "30%\nrest");
    CHECK(out.folded_updates == 2);
    CHECK(out.folded_bytes == 10);
    CHECK(out.total_bytes == 18);
    CHECK(out.total_lines == 2);
}

TEST_CASE("a line's end of several returns hides nothing, and nothing is counted")
{
    const auto out = folded({"one\r\r\ntwo\r", "\r\r\nthree\r\r"});
    CHECK(out.head == "one\r\r\ntwo\r\r\r\nthree\r\r");
    CHECK(out.folded_bytes == 0);
    CHECK(out.folded_updates == 0);
}

TEST_CASE("UTF-16 and what else has a NUL is left as it is")
{
    const std::string little("a\0\r\0\n\0b\0\r\0\n\0", 12);
    const std::string big("\0a\0\r\0\n\0b\0\r\0\n", 12);
    CHECK(shown(little) == little);
    CHECK(shown(big) == big);
    CHECK(shown(std::string("ab\r\0c", 5)) == std::string("ab\r\0c", 5));
}

TEST_CASE("wherever the pieces begin and end, the same is shown")
{
    using namespace std::string_literals;
    const auto text = "\rone\r\ntwo\r\rthree\r\r\n\0\r\n10%\r20%\x1b[K\r\xc3\xa9\xff\n\r\n100%\r"s;
    const auto whole = folded({text});
    const Reference reference(text);
    CHECK(whole.head == reference.shown);
    const auto check = [&](const std::vector<std::string>& pieces) {
        const auto out = folded(pieces);
        REQUIRE(out.head == whole.head);
        REQUIRE(out.folded_bytes == whole.folded_bytes);
        REQUIRE(out.folded_updates == whole.folded_updates);
        REQUIRE(out.total_lines == whole.total_lines);
    };
    std::vector<std::string> bytes;
    for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
            check({text.substr(0, first), text.substr(first, second - first), text.substr(second)});
        }
        bytes.push_back(text.substr(first, 1));
    }
    check(bytes);
}

TEST_CASE("shown, left out and folded are the whole, of any text in any pieces")
{
    std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    std::uniform_int_distribution<std::uint64_t> limit(0, 60);
    for (int round = 0; round < 20'000; ++round) {
        const std::string text = random_text(random);
        const Reference reference(text);
        const auto out = folded(random_pieces(random, text), limit(random), limit(random));
        CAPTURE(text);
        REQUIRE(out.total_bytes == text.size());
        REQUIRE(out.folded_bytes == reference.bytes);
        REQUIRE(out.folded_updates == reference.updates);
        REQUIRE(out.head.size() + out.tail.size() + out.omitted_bytes + out.folded_bytes ==
                text.size());
        REQUIRE(newlines(out.head) + newlines(out.tail) + out.omitted_lines == newlines(text));
        REQUIRE(out.total_lines ==
                newlines(text) + (text.empty() || text.ends_with('\n') ? 0U : 1U));
        REQUIRE(reference.shown.starts_with(out.head));
        REQUIRE(reference.shown.ends_with(out.tail));
        if (out.omitted_bytes == 0) {
            REQUIRE(out.head + out.tail == reference.shown);
        }
    }
}

TEST_CASE("what is to be folded is known before it is added, and a file with CRLF is not meant")
{
    CHECK_FALSE(has_rewriting("", ""));
    CHECK_FALSE(has_rewriting("", "one\r\ntwo\r\n"));
    CHECK_FALSE(has_rewriting("", "one\r"));
    CHECK_FALSE(has_rewriting("\r", "\n"));
    CHECK_FALSE(has_rewriting("\r", ""));
    CHECK(has_rewriting("\r", "2"));
    CHECK(has_rewriting("", "1\r2"));
    CHECK_FALSE(has_rewriting("", "1\r\r\n2\r\r"));
    CHECK(has_rewriting("", std::string(9, '\r')));
    std::mt19937 random(2); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    for (int round = 0; round < 20'000; ++round) {
        FoldedText text(plenty, 0);
        std::string before;
        bool told = false;
        for (const auto& piece : random_pieces(random, random_text(random))) {
            told = told || has_rewriting(before, piece);
            text.add(piece);
            before += piece;
            StreamOutput out;
            text.put_into(out);
            REQUIRE((told || out.folded_bytes == 0));
            if (!told) {
                REQUIRE(text.whole() == before);
            }
        }
    }
}

TEST_CASE("a bar of any length between lines costs nothing of what is kept")
{
    FoldedText text(60, 40);
    text.add("1\n2\n3\n4\n5\n");
    std::string bar;
    std::uint64_t updates = 0;
    while (bar.size() < 10'000'000) {
        bar += "\r" + std::to_string(updates++) + " [" + std::string(60, '#') + "]";
    }
    for (std::size_t at = 0; at < bar.size(); at += 65'521) {
        text.add(std::string_view(bar).substr(at, 65'521));
    }
    text.add("\r100%\n6\n7\n8\n9\n10\n");
    StreamOutput out;
    text.put_into(out);
    CHECK(out.head + out.tail == "1\n2\n3\n4\n5\n100%\n6\n7\n8\n9\n10\n");
    CHECK(out.omitted_bytes == 0);
    CHECK(out.folded_updates == updates);
    CHECK(out.folded_bytes == bar.size() + 1);
}

TEST_CASE("what is no bar is not held back for ever: long rewritings and returns without end")
{
    const std::string wide(5000, 'x');
    const auto out = folded({wide + "\r1\r2\n"});
    CHECK(out.head == wide + "\r2\n");
    CHECK(out.folded_updates == 1);
    CHECK(folded({wide.substr(0, 4000), wide.substr(0, 1000), "\r1"}).head == wide + "\r1");

    const auto returns =
        folded({"a", std::string(1'000'000, '\r'), std::string(1'000'000, '\r'), "\n"});
    CHECK(returns.head == "a" + std::string(8, '\r') + "\n");
    CHECK(returns.folded_bytes == 1'999'992);
    CHECK(returns.folded_updates == 0);
}

} // namespace berth::protocol::test
