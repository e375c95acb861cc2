// Patches of many hunks: the places of their lines are looked up for all of them at once, and what
// becomes of the file must be what the hunks one by one would make of it.

#include "sandbox/guest/files/line_places.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

using Lines = std::vector<std::string>;

/// What the hunks make of a file, or which error it is.
struct Outcome {
    std::string content;
    std::string error;
};

Outcome patched(const std::string& before, const std::string& hunks)
{
    const Machine machine;
    machine.put("f", before);
    protocol::PatchFilesRequest request;
    request.patch = "*** Begin Patch\n*** Update File: f\n" + hunks + "*** End Patch\n";
    try {
        (void)patch_files(request, machine.context);
    } catch (const Error& error) {
        REQUIRE(machine.get("f") == before);
        return {before, std::string(to_string(error.code()))};
    }
    return {machine.get("f"), ""};
}

/// Each hunk in a patch of its own, of what is behind the one before: new lines end with a mark.
Outcome patched_one_by_one(const std::string& before, const Lines& hunks)
{
    std::string done;
    std::string rest = before;
    for (const auto& hunk : hunks) {
        auto outcome = patched(rest, hunk);
        if (!outcome.error.empty()) {
            return {before, outcome.error};
        }
        const auto mark = hunk.substr(hunk.rfind('+') + 1);
        const auto found = outcome.content.find(mark.substr(0, mark.size() - 1));
        const auto newline = outcome.content.find('\n', found);
        const auto end = newline == std::string::npos ? outcome.content.size() : newline + 1;
        done += outcome.content.substr(0, end);
        rest = outcome.content.substr(end);
    }
    return {done + rest, ""};
}

class Cases {
  public:
    explicit Cases(unsigned seed) : random_(seed) {}

    bool one_in(unsigned many) { return random_() % many == 0; }

    std::size_t below(std::size_t end) { return random_() % end; }

    /// Of few different ones, so that many are in several places.
    std::string line(std::size_t different)
    {
        static const char* const indented[] = {"", "\t", "    ", "\t\t"};
        const std::string word = std::to_string(below(different));
        return std::string(indented[below(4)]) +
               (one_in(9) ? "\xe2\x80\x9cq\xe2\x80\x9d " : "\"q\" ") + word +
               (one_in(9) ? " \t" : "");
    }

    /// As a model may write it.
    std::string written(std::string line)
    {
        if (one_in(4) && line.starts_with('\t')) {
            line.replace(0, 1, "    ");
        }
        if (one_in(4)) {
            line += " ";
        }
        return line;
    }

    /// One of some of the lines from `at` on; moves `at` behind it.
    std::string hunk(const Lines& lines, std::size_t& at, std::size_t index)
    {
        std::string text = "@@";
        if (!one_in(3)) {
            const std::string header = lines[at].substr(lines[at].find_first_not_of("\t "));
            text += " " + (one_in(3) ? header.substr(0, header.size() - 1) : header);
            ++at;
        }
        text += "\n";
        const std::size_t end = std::min(lines.size(), at + 1 + below(4));
        for (; at < end; ++at) {
            text += (one_in(3) ? "-" : " ") + written(lines[at]) + "\n";
        }
        return text + "+mark " + std::to_string(index) + "\n";
    }

  private:
    std::mt19937 random_;
};

} // namespace

TEST_CASE("property: many hunks make what they make one by one")
{
    Cases cases(20261123);
    unsigned succeeded = 0;
    unsigned refused = 0;
    for (int round = 0; round < 120; ++round) {
        CAPTURE(round);
        const std::size_t different = 10U << cases.below(8);
        Lines lines(10 + cases.below(150));
        std::ranges::generate(lines, [&] { return cases.line(different); });
        std::string before;
        for (const auto& line : lines) {
            before += line + (cases.one_in(5) ? "\r\n" : "\n");
        }
        before += cases.one_in(2) ? "last\n" : "last";
        Lines hunks;
        for (std::size_t at = cases.below(20); at + 1 < lines.size(); at += cases.below(20)) {
            hunks.push_back(cases.hunk(lines, at, hunks.size()));
        }
        // One that is above the one before it.
        if (cases.one_in(10) && hunks.size() > 2) {
            std::swap(hunks[0], hunks[1]);
        }
        std::string all;
        for (const auto& hunk : hunks) {
            all += hunk;
        }
        if (hunks.size() < 2) {
            continue;
        }
        CAPTURE(before);
        CAPTURE(all);
        const auto together = patched(before, all);
        const auto apart = patched_one_by_one(before, hunks);
        REQUIRE(together.error == apart.error);
        REQUIRE(together.content == apart.content);
        ++(apart.error.empty() ? succeeded : refused);
    }
    CHECK(succeeded > 20);
    CHECK(refused > 20);
}

TEST_CASE("many hunks in lines of which most are the same")
{
    // More than are remembered of one line, with and without others between them.
    std::string before;
    std::string after;
    std::string hunks;
    for (int i = 0; i < 12'000; ++i) {
        const bool has = i % 100 == 0;
        const std::string unique = has ? "unique " + std::to_string(i) + "\n" : "";
        before += unique + "same\n";
        after += unique + (has ? "other\n" : "same\n");
        hunks += has ? "@@ " + unique + "-same\n+other\n" : "";
    }
    CHECK(patched(before, hunks).content == after);
    CHECK(patched(before, hunks + "@@\n-same\n+other\n").error == "ambiguous_match");
    CHECK(patched(before + "same", hunks + "@@\n-same\n+other\n*** End of File\n").content ==
          after + "other");
}

TEST_CASE("a hunk at the file's end is found there, however often its lines are above it")
{
    std::string above;
    for (int i = 0; i < 3000; ++i) {
        above += "same\n";
    }
    const std::string hunk = " same\n-same\n+other\n*** End of File\n";
    CHECK(patched(above + "same", "@@\n" + hunk).content == above + "other");
    CHECK(patched(above + "same\n", "@@\n" + hunk).content == above + "other\n");
    CHECK(patched("first\n" + above + "same\n", "@@ first\n-same\n+1\n@@\n" + hunk).content ==
          "first\n1\n" + above.substr(5) + "other\n");
    // Not above the header, nor of lines that the hunk before it has made.
    CHECK(patched("same\nsame\n", "@@ same\n same\n-same\n+other\n*** End of File\n").error ==
          "text_not_found");
    CHECK(patched("same\na\n", "@@\n same\n-a\n+same\n@@\n same\n-same\n+b\n*** End of File\n")
              .error == "text_not_found");
}

TEST_CASE("many hunks in a file of millions of lines, and in one with a line without end")
{
    const std::string empty(4'100'000, '\n');
    const std::string hunks = "@@ first\n \n-second\n+2\n@@\n \n-third\n+3\n";
    CHECK(patched("first\n\nsecond\n" + empty + "third\nfourth", hunks).content ==
          "first\n\n2\n" + empty + "3\nfourth");
    const std::string row(300'000, 'x');
    CHECK(patched(row + "\nfirst\n\nsecond\n\nthird\n", hunks).content ==
          row + "\nfirst\n\n2\n\n3\n");
}

TEST_CASE("of more places than are kept those of rare lines are")
{
    // Of 500 lines each is in 600 places, and a rare one between them.
    const Machine machine;
    std::string text;
    std::string wanted;
    for (int i = 0; i < 300'000; ++i) {
        text.append("line ").append(std::to_string(i % 500)).append(1, '\n');
        text += i == 200'000 ? "rare\n" : "";
        wanted = i == 499 ? text : wanted;
    }
    machine.put("f", text);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    OriginalReader reader(file.get(), text.size(), machine.home, machine.context);
    LinePlaces places(text.size());
    places.want_text(wanted);
    places.want_text("rare\n");
    places.scan(reader);
    const auto anywhere = places.ranges_of("line 0\nline 1\n", 0);
    REQUIRE(anywhere.size() == 1);
    CHECK(anywhere[0].begin == 0);
    CHECK(anywhere[0].end == text.size());
    const auto near = places.ranges_of("line 0\nrare\nline 1\n", 0);
    REQUIRE(near.size() == 1);
    CHECK(near[0].begin <= text.find("line 0\nrare\n"));
    CHECK(near[0].end >= text.find("line 2\n", text.find("rare\n")));
    CHECK(near[0].end - near[0].begin < 1000);
}

TEST_CASE("of more lines than are looked for nothing is told")
{
    const Machine machine;
    std::string text;
    for (int i = 0; i < 40'000; ++i) {
        text += std::to_string(i) + "\n";
    }
    machine.put("f", text);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    OriginalReader reader(file.get(), text.size(), machine.home, machine.context);
    LinePlaces places(text.size());
    places.want_text(text);
    places.want_line("39999");
    places.scan(reader);
    REQUIRE(places.ranges_of("39999\n", 0).size() == 1);
    CHECK(places.ranges_of("39999\n", 0)[0].end - places.ranges_of("39999\n", 0)[0].begin ==
          text.size());
    CHECK(places.near_line("39999", 2) == 2U);
}

TEST_CASE("where lines are is told too widely, never too narrowly")
{
    const Machine machine;
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += "line " + std::to_string(i % 500) + "\n";
    }
    machine.put("f", text);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    OriginalReader reader(file.get(), text.size(), machine.home, machine.context);
    LinePlaces places(text.size());
    places.want_text("line 7\nline 8\n");
    places.want_text("line 7\nline 9\n");
    places.want_line("line 42");
    const auto all = places.ranges_of("line 7\nline 8\n", 0);
    REQUIRE(all.size() == 1); // nothing is known yet
    CHECK(all[0].end == text.size());
    CHECK(places.near_line("line 42", 5) == 5U);
    places.scan(reader);
    const auto two = places.ranges_of("line 7\nline 8\n", 0);
    REQUIRE(two.size() == 2);
    const auto first = text.find("line 7\n");
    const auto second = text.find("line 7\n", first + 1);
    CHECK(two[0].begin <= first);
    CHECK(two[0].end >= first + 14);
    CHECK(two[0].end < second);
    CHECK(two[1].begin <= second);
    CHECK(places.ranges_of("line 7\nline 8\n", first + 7).size() == 1);
    CHECK(places.ranges_of("line 7\nline 9\n", 0).empty());
    CHECK(places.ranges_of("line 1\n", 0).size() == 1); // was not wanted: anywhere
    CHECK(places.near_line("line 42", 0) == text.find("line 42\n"));
    CHECK(places.near_line("line 42", text.rfind("line 42\n") + 1) == std::nullopt);
}

TEST_CASE(
    "a line that is too long to be kept hides no other, unless it may be one that is looked for")
{
    const Machine machine;
    std::string text = "head\n";
    for (int i = 0; i < 1000; ++i) {
        text += "line " + std::to_string(i) + "\n";
    }
    bool known = true;
    SUBCASE("of signs")
    {
        text += "begun " + std::string(700'000, 'x') + "\nlast\n";
    }
    SUBCASE("of signs, at the end")
    {
        text += "last\nbegun " + std::string(700'000, 'x');
    }
    SUBCASE("of blanks")
    {
        text += "begun " + std::string(700'000, ' ') + "\nlast\n"; // "begun" once it is folded
        known = false;
    }
    machine.put("f", text);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    OriginalReader reader(file.get(), text.size(), machine.home, machine.context);
    LinePlaces places(text.size());
    places.want_text("begun\n");
    places.want_text("last\n");
    places.scan(reader);
    const auto last = places.ranges_of("last\n", 0);
    REQUIRE(last.size() == 1);
    CHECK(last[0].begin <= text.find("last"));
    CHECK(last[0].end >= text.find("last") + 5);
    CHECK((last[0].begin > 0) == known);
    CHECK(places.ranges_of("begun\n", 0).empty() == known);
}
