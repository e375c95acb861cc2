#include "sandbox/guest/files/folded_signs.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <algorithm>
#include <random>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using protocol::Edit;

namespace {

using Words = std::vector<std::string>;

protocol::EditFileRequest request_for(const std::string& path, Edit edit)
{
    protocol::EditFileRequest request;
    request.path = path;
    request.edits = {std::move(edit)};
    request.diff_budget = 100'000;
    request.tolerant = true;
    return request;
}

struct Case {
    const char* before;
    const char* old_text;
    const char* new_text;
    const char* after; ///< null: not found
    Words tolerated;
};

std::string folded(std::string_view text, Behind behind)
{
    std::string result;
    (void)fold_text(text, behind, [&](const FoldedSign& sign) { result += sign.sign; });
    return result;
}

} // namespace

TEST_CASE("a text is found through tabs, trailing blanks, line ends and quotes, and nothing else")
{
    const Case cases[] = {
        // tabs
        {"if x:\n\treturn 1\n",
         "if x:\n    return 1\n",
         "if x:\n    return 2\n",
         "if x:\n\treturn 2\n",
         {"tabs"}},
        {"{\n\ta;\n\t\tb;\n}\n",
         "    a;\n        b;",
         "    a;\n        b;\n            c;",
         "{\n\ta;\n\t\tb;\n\t\t\tc;\n}\n",
         {"tabs"}},
        {"{\n    a;\n}\n", "{\n\ta;\n}", "{\n\tb;\n}", "{\n    b;\n}\n", {"tabs"}},
        {"int a;\t// one\n", "int a; // one", "int b; // two", "int b; // two\n", {"tabs"}},
        // another depth is another text
        {"\t\tx = 1\n", "\tx = 2", "\ty", nullptr, {}},
        {"\tif a:\n\t\tb\n", "    if a:\n      b\n", "x", nullptr, {}},
        {"  x\n", "if\n", "y", nullptr, {}},
        {"a\n  x\n", "a\n   x\n", "a\n   y\n", nullptr, {}},
        {"a  b\n", "a b", "c", nullptr, {}},
        // trailing blanks
        {"one  \ntwo\t\nthree\n",
         "one\ntwo\nthree\n",
         "one\n2\nthree\n",
         "one  \n2\nthree\n",
         {"trailing blanks"}},
        {"one\ntwo\n", "one   \ntwo", "one   \n2", "one\n2\n", {"trailing blanks"}},
        // line ends, where the file has both
        {"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\n", {"line ends"}},
        {"a\r\nb\n", "a\nb\n", "a\nx\ny\nb\n", "a\r\nx\r\ny\r\nb\n", {"line ends"}},
        {"a\r\nb\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\ny\n", {"line ends"}},
        {"a\nb\r\n", "a\nb\n", "x\na\nb\n", "x\na\nb\r\n", {"line ends"}},
        // a line that stays keeps its own end, though the text ends within it
        {"a\r\nb\nc\r\n", "a", "a\nXX", "a\r\nXX\r\nb\nc\r\n", {}},
        {"a\r\nb\nc\r\n", "b", "b\nXX\nYY", "a\r\nb\nXX\nYY\nc\r\n", {}},
        {"a\r\nb\nc", "c", "XX\nc", "a\r\nb\nXX\nc", {}},
        {"a\nit\u2019s so\r\n",
         "it's so",
         "it's so\nXX\nYY",
         "a\nit\u2019s so\r\nXX\r\nYY\r\n",
         {"quotes"}},
        {"a\nit\u2019s so\r\n", "it's", "XX\nit's", "a\nXX\r\nit\u2019s so\r\n", {"quotes"}},
        {"a\nit\u2019s\nb\r\n",
         "it's\nb",
         "it's\nb\nXX\nYY",
         "a\nit\u2019s\nb\r\nXX\r\nYY\r\n",
         {"quotes"}},
        {"a\nb\r\nc\r\n", "a\nb\nc", "a\nb\nc\nd", "a\nb\r\nc\r\nd\r\n", {"line ends"}},
        {"x\r\nit\u2019s\n", "it's", "it's\ny", "x\r\nit\u2019s\ny\n", {"quotes"}},
        // quotes
        {"say(\u201Chi\u201D)\n", "say(\"hi\")", "say(\"ho\")", "say(\"ho\")\n", {"quotes"}},
        {"it's\n", "it\u2019s", "it is", "it is\n", {"quotes"}},
        {"say(\"hi\")\n", "say('hi')", "x", nullptr, {}},
        // all at once
        {"f(\u2018a\u2019)\t \r\n\tb\n",
         "f('a')\n    b\n",
         "f('a')\n    c\n",
         "f(\u2018a\u2019)\t \r\n\tc\n",
         {"tabs", "trailing blanks", "line ends", "quotes"}},
        // the letters themselves
        {"Return 1\n", "return 1", "x", nullptr, {}},
        {"a\u2013b\n", "a-b", "x", nullptr, {}},
        // a line that stays, though the text's end is in its middle
        {"say \u201Chi\u201D\n",
         "say \"hi\"",
         "say \"hi\"\nbye",
         "say \u201Chi\u201D\nbye\n",
         {"quotes"}},
        // a text that begins or ends within blanks, as one that is found as it is may
        {"    say(\u201Chi\u201D);\n",
         "  say(\"hi\");",
         "  say(\"ho\");",
         "    say(\"ho\");\n",
         {"quotes"}},
        {"\t\tit\u2019s\n", "\tit's", "\tit is", "\t\tit is\n", {"quotes"}},
        {"it\u2019s    so\n", "it's  ", "it is  ", "it is    so\n", {"quotes"}},
        {"a    it\u2019s    so\n", " it's ", "-", "a   -   so\n", {"quotes"}},
        {"a\n    it\u2019s\n", "a\n  it's\n", "x", nullptr, {}}, // not those between
        // found as it is
        {"\tx\n    x\n", "    x", "    y", "\tx\n    y\n", {}},
    };
    for (const auto& one : cases) {
        CAPTURE(one.before);
        CAPTURE(one.old_text);
        const Machine machine;
        machine.put("f", one.before);
        const auto asked = request_for("f", {one.old_text, one.new_text, false});
        if (one.after == nullptr) {
            CHECK(error_of([&] { (void)edit_file(asked, machine.context); }).code() ==
                  ErrorCode::text_not_found);
            CHECK(machine.get("f") == one.before);
            continue;
        }
        const auto reply = edit_file(asked, machine.context);
        CHECK(machine.get("f") == one.after);
        CHECK(reply.tolerated == one.tolerated);
        CHECK(reply.replacements == 1);
    }
}

TEST_CASE("a tolerated place must be the only one, unless all are meant")
{
    const Machine machine;
    machine.put("f", "\tx\n  \tx\n");
    auto asked = request_for("f", {"        x", "        y", false});
    CHECK(error_of([&] { (void)edit_file(asked, machine.context); }).code() ==
          ErrorCode::ambiguous_match);
    CHECK(machine.get("f") == "\tx\n  \tx\n");
    machine.put("g", "\tx\n\tx\n"); // shorter than the text: they do not overlap
    CHECK(std::string(error_of([&] {
                          (void)edit_file(request_for("g", {"        x\n", "y\n", false}),
                                          machine.context);
                      }).what())
              .find("occurs 2 times in ") != std::string::npos);
    asked.edits.front().replace_all = true;
    const auto reply = edit_file(asked, machine.context);
    CHECK(reply.replacements == 2);
    CHECK(machine.get("f") == "\ty\n  \ty\n");
}

TEST_CASE("where line ends are mixed each place that is replaced keeps its own")
{
    const Machine machine;
    machine.put("f", "one\r\ntwo one\none one\r\none");
    auto asked = request_for("f", {"one", "1\n2", true});
    CHECK(edit_file(asked, machine.context).replacements == 5);
    CHECK(machine.get("f") == "1\r\n2\r\ntwo 1\n2\n1\r\n2 1\r\n2\r\n1\n2");
    // Who did not ask for tolerance writes bytes.
    machine.put("f", "one\r\ntwo\n");
    asked = request_for("f", {"one", "one\n2", false});
    asked.tolerant = false;
    (void)edit_file(asked, machine.context);
    CHECK(machine.get("f") == "one\n2\r\ntwo\n");
    // One carriage return in front of another, and at the end of a piece that is read.
    const std::string row(stream_piece - 4, 'x');
    machine.put("f", row + "one\r\nb\n");
    (void)edit_file(request_for("f", {"one", "1\n2", false}), machine.context);
    CHECK(machine.get("f") == row + "1\r\n2\r\nb\n");
    machine.put("f", "one\r\nb\n");
    (void)edit_file(request_for("f", {"one\r", "1\n2\r", false}), machine.context);
    CHECK(machine.get("f") == "1\n2\r\nb\n");
}

TEST_CASE("who did not ask for tolerance is told that it would have matched")
{
    const Machine machine;
    machine.put("f", "a\n\tx = 1  \n");
    auto asked = request_for("f", {"    x = 1\n", "    x = 2\n", false});
    asked.tolerant = false;
    const auto error = error_of([&] { (void)edit_file(asked, machine.context); });
    CHECK(error.code() == ErrorCode::text_not_found);
    CHECK(
        error.hint().find("line 2 is the same but for tabs and trailing blanks: tolerant = true") !=
        std::string::npos);
    CHECK(machine.get("f") == "a\n\tx = 1  \n");
}

TEST_CASE("a place is found wherever the pieces of a stream end")
{
    const std::string place = "begin \u201Cq\u201D  \t\r\n\tx\t\r\nend";
    const std::string old_text = "begin \"q\"\n    x\nend";
    for (std::size_t before = stream_piece - place.size() - 1; before <= stream_piece; ++before) {
        const Machine machine;
        const std::string filler(before, 'f');
        machine.put("f", filler + place + "\n");
        const auto reply = edit_file(request_for("f", {old_text, "begin \"q\"\n    y\nend", false}),
                                     machine.context);
        REQUIRE(reply.replacements == 1);
        REQUIRE(machine.get("f") == filler + "begin \u201Cq\u201D  \t\r\n\ty\r\nend\n");
    }
}

TEST_CASE("texts that repeat themselves: the search takes up again within what it has seen")
{
    const Machine machine;
    machine.put("f", "a\ta\ta\tb\n");
    (void)edit_file(request_for("f", {"a a b", "c", false}), machine.context);
    CHECK(machine.get("f") == "a\tc\n");
}

TEST_CASE("megabytes of blanks are one run of them")
{
    const Machine machine;
    machine.put("f", "x" + std::string(3 * 1024 * 1024, ' ') + "\n\ty\n");
    (void)edit_file(request_for("f", {"    y", "    z", false}), machine.context);
    CHECK(machine.get("f").ends_with(" \n\tz\n"));
}

TEST_CASE("folding")
{
    CHECK(folded("a \t b", Behind::anything) == "a b");
    CHECK(folded("a  \nb\t\r\n", Behind::anything) == "a\nb\n");
    CHECK(folded("a  ", Behind::anything) == "a ");
    CHECK(folded("a  ", Behind::nothing) == "a");
    CHECK(folded("a\rb\r", Behind::nothing) == "a\rb\r");
    CHECK(folded("\u201Ca\u2019", Behind::nothing) == "\"a'");
    CHECK(folded(std::string_view("a\0b", 3), Behind::nothing) == std::string_view("a\0b", 3));
    // What comes behind decides.
    for (const char* open : {" ", "\t ", "\r", " \r", "\xe2", "\xe2\x80"}) {
        CAPTURE(open);
        CHECK(fold_text(open, Behind::more, [](const FoldedSign&) { FAIL("too early"); }) == 0);
    }
}

TEST_CASE("property: a tolerant edit changes what it matched and nothing else, and can be undone")
{
    std::mt19937 random(20261123); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same cases each time
    const Words ends = {"\n", "\r\n", " \n", "\t\n"};
    const Words indents = {"", "\t", "    ", "\t\t"};
    const auto pick = [&](const Words& words) { return words[random() % words.size()]; };
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        std::string before;
        std::string plain;
        const std::size_t lines = 2 + random() % 6;
        const std::size_t changed = random() % lines;
        std::string after;
        for (std::size_t i = 0; i < lines; ++i) {
            const std::string indent = pick(indents);
            const std::string word = "w" + std::to_string(round) + "_" + std::to_string(i);
            const std::string end = pick(ends);
            before += indent + word + end;
            // As somebody writes it who sees a tab as four blanks and no blanks at the end.
            plain += (indent == "\t"     ? "    "
                      : indent == "\t\t" ? "        "
                                         : indent) +
                     word + "\n";
        }
        const std::string name = "w" + std::to_string(round) + "_" + std::to_string(changed);
        const auto rename = [&](std::string text, const std::string& from, const std::string& to) {
            return text.replace(text.find(from), from.size(), to);
        };
        const Machine machine;
        const std::string around = "head\t\r\n";
        machine.put("f", around + before + "tail  ");
        (void)edit_file(request_for("f", {plain, rename(plain, name, "other"), false}),
                        machine.context);
        const std::string edited = machine.get("f");
        REQUIRE(edited.starts_with(around));
        REQUIRE(edited.ends_with("tail  "));
        REQUIRE(folded(edited, Behind::nothing) ==
                folded(around + rename(before, name, "other") + "tail  ", Behind::nothing));
        (void)edit_file(request_for("f", {rename(plain, name, "other"), plain, false}),
                        machine.context);
        REQUIRE(folded(machine.get("f"), Behind::nothing) ==
                folded(around + before + "tail  ", Behind::nothing));
    }
}
