#include "sandbox/base/utf8.hpp"
#include "sandbox/protocol/folded_text.hpp"
#include "tools/output_budget.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace protocol = berth::protocol;
namespace utf8 = berth::utf8;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

using berth::ControlCharacters;

namespace {

std::uint64_t newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// What the guest would keep of a stream.
protocol::StreamOutput kept(const std::string& whole, std::size_t head_limit,
                            std::size_t tail_limit)
{
    protocol::StreamOutput stream;
    berth::protocol::FoldedText text(head_limit, tail_limit);
    text.add(whole);
    text.put_into(stream);
    return stream;
}

std::string folded_text(const std::string& whole)
{
    return kept(whole, whole.size(), 0).head;
}

std::string random_bytes(std::size_t size)
{
    std::mt19937 random(2); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    std::uniform_int_distribution<int> byte(0, 255);
    std::string bytes;
    while (bytes.size() < size) {
        bytes += static_cast<char>(byte(random));
    }
    return bytes;
}

std::string random_text(std::mt19937& random)
{
    static const std::string pieces[] = {
        "a",  "line\n", "\n",       "é",        "€",
        "😀", "\xff",   "\xe2\x82", "\x80",     "a longer line of output\n",
        "\r", "50%\r",  "\r\n",     "\x1b[31m", "\x1b",
        "\b", "\u202e"};
    std::uniform_int_distribution<std::size_t> piece(0, std::size(pieces) - 1);
    std::uniform_int_distribution<int> length(0, 60);
    std::string text;
    for (int i = length(random); i > 0; --i) {
        text += pieces[piece(random)];
    }
    return text;
}

} // namespace

TEST_CASE("what is shown, what is counted as left out and what was folded is the whole")
{
    constexpr std::array treatments = {ControlCharacters::strip, ControlCharacters::escape,
                                       ControlCharacters::pass};
    std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): a failure must repeat
    std::uniform_int_distribution<std::size_t> limit(0, 80);
    for (int round = 0; round < 20'000; ++round) {
        const std::string whole = random_text(random);
        const auto stream = kept(whole, limit(random), limit(random));
        const std::size_t budget = limit(random);
        const auto treatment = treatments.at(static_cast<std::size_t>(round) % treatments.size());
        std::string storage;
        const Excerpt excerpt = fit(stream, budget, treatment, storage);

        CHECK(stream.total_bytes == whole.size());
        CHECK(excerpt.head.size() + excerpt.tail.size() + excerpt.omitted_bytes +
                  stream.folded_bytes ==
              whole.size());
        CHECK(newlines(excerpt.head) + newlines(excerpt.tail) + excerpt.omitted_lines ==
              newlines(whole));
        CHECK(shown_characters(excerpt.head, treatment) +
                  shown_characters(excerpt.tail, treatment) <=
              budget);
        const std::string folded = folded_text(whole);
        CHECK(folded.starts_with(excerpt.head));
        CHECK(folded.ends_with(excerpt.tail));
        const auto shown = to_text(excerpt, treatment);
        CHECK(utf8::is_valid(shown.text));
        if (stream.omitted_bytes == 0 && shown_characters(folded, treatment) <= budget) {
            CHECK(excerpt.head == folded);
            CHECK(excerpt.omitted_bytes == 0);
            CHECK(shown.text == show(folded, treatment).text);
        }
    }
}

TEST_CASE("the text of both streams stays within the budget as it is written")
{
    constexpr std::size_t budget = 1000;
    constexpr std::size_t markers = 200;
    const std::string hostile = random_bytes(4000);
    for (const auto treatment :
         {ControlCharacters::strip, ControlCharacters::escape, ControlCharacters::pass}) {
        for (const auto& whole : {hostile, std::string(4000, '\x1b'), std::string(900, '\b')}) {
            const auto stream = kept(whole, 2400, 1600);
            const auto [out, err] = show_streams(stream, stream, budget, treatment);
            CHECK(utf8::count(out.text) + utf8::count(err.text) <= budget + markers);
        }
    }
}

TEST_CASE("a character is never cut, wherever the guest or the budget cut")
{
    std::string whole;
    for (int i = 0; i < 50; ++i) {
        whole += "😀";
    }
    for (std::size_t head = 0; head < 20; ++head) {
        for (std::size_t budget = 0; budget < 20; ++budget) {
            std::string storage;
            const auto stream = kept(whole, head, 33 - head);
            const Excerpt excerpt = fit(stream, budget, ControlCharacters::pass, storage);
            CHECK(utf8::is_valid(excerpt.head));
            CHECK(utf8::is_valid(excerpt.tail));
        }
    }
}

TEST_CASE("the head is cut at a line's end, the tail begins at one, and the rest is counted")
{
    std::string whole;
    for (int i = 0; i < 1000; ++i) {
        whole += "line " + std::to_string(i) + "\n";
    }
    std::string storage;
    const auto stream = kept(whole, 300, 200);
    const Excerpt excerpt = fit(stream, 100, ControlCharacters::pass, storage);
    CHECK(excerpt.head.ends_with("\n"));
    CHECK(excerpt.tail.starts_with("line "));
    const std::string text = to_text(excerpt, ControlCharacters::pass).text;
    CHECK(text.find("\n[... 98") != std::string::npos);
    CHECK(text.find(" lines (") != std::string::npos);
    CHECK(text.find(") left out ...]\nline ") != std::string::npos);
}

TEST_CASE("one endless line loses bytes, not lines")
{
    std::string storage;
    const auto stream = kept(std::string(10'000, 'x'), 100, 100);
    const std::string text =
        to_text(fit(stream, 50, ControlCharacters::pass, storage), ControlCharacters::pass).text;
    CHECK(text.find("[... 9.9 KB left out ...]") != std::string::npos);
    CHECK(text.find("line") == std::string::npos);
}

TEST_CASE("standard error gets a quarter when it needs it, and what the other leaves")
{
    const auto divided = [](std::size_t budget, std::size_t out, std::size_t err) {
        const auto budgets = divide_budget(budget, out, err);
        CHECK(budgets.out + budgets.err <= budget);
        return std::pair(budgets.out, budgets.err);
    };
    CHECK(divided(100, 1000, 1000) == std::pair<std::size_t, std::size_t>(75, 25));
    CHECK(divided(100, 1000, 10) == std::pair<std::size_t, std::size_t>(90, 10));
    CHECK(divided(100, 10, 1000) == std::pair<std::size_t, std::size_t>(10, 90));
    CHECK(divided(100, 30, 70) == std::pair<std::size_t, std::size_t>(30, 70));
    CHECK(divided(100, 0, 0) == std::pair<std::size_t, std::size_t>(0, 0));
    CHECK(divided(0, 5, 5) == std::pair<std::size_t, std::size_t>(0, 0));
}
