#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/replacing.hpp"
#include "tests/unit/guest/search/search_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include <sys/stat.h>

using berth::Error;
using berth::ErrorCode;
using berth::protocol::GrepMode;
using berth::protocol::GrepReply;
using berth::tests::error_of;
using berth::tests::SearchTree;

namespace {

std::string shown(const GrepReply& reply, const SearchTree& tree)
{
    std::string all;
    for (const auto& file : reply.files) {
        for (const auto& line : file.lines) {
            all += line.group_start ? "--\n" : "";
            all += file.path.substr(tree.path().size() + 1) + (line.is_match ? ":" : "-") +
                   std::to_string(line.number) + " " + line.text + "\n";
        }
    }
    return all;
}

} // namespace

TEST_CASE("grep: lines, order and totals")
{
    const SearchTree tree;
    tree.write("b.txt", "foo\nbar\nfoo bar\n");
    tree.write("a/z.txt", "no\nfoo");
    tree.write("a.txt", "foo\r\n");
    const GrepReply reply = tree.grep({.pattern = "foo"});
    CHECK(shown(reply, tree) == "a/z.txt:2 foo\na.txt:1 foo\r\nb.txt:1 foo\nb.txt:3 foo bar\n");
    CHECK(reply.root == tree.path());
    CHECK(reply.total_files == 3);
    CHECK(reply.total_matches == 4);
    CHECK(reply.searched_files == 3);
    CHECK(reply.complete);
    CHECK(reply.truncated_by.empty());
}

TEST_CASE("grep: no empty match behind a last line without newline")
{
    const SearchTree tree;
    tree.write("a", "foo\nbar");
    // What ripgrep -c -o has.
    CHECK(tree.grep({.pattern = "o*", .mode = GrepMode::count, .only_matching = true})
              .total_matches == 5);
    CHECK(tree.grep({.pattern = "o*", .only_matching = true}).total_matches == 5);
    CHECK(tree.grep({.pattern = "r$", .only_matching = true}).total_matches == 1);
    const auto files =
        tree.grep({.pattern = "bar$|$", .mode = GrepMode::files, .only_matching = true});
    CHECK(files.total_files == 1);
}

TEST_CASE("grep: an empty match right behind another one does not count, on the next line neither")
{
    const SearchTree tree;
    tree.write("a", "foo\nbar\n\nbaz");

    struct Case {
        const char* pattern;
        std::uint64_t matches; ///< that ripgrep -U --count-matches has
    };

    for (const auto& [pattern, matches] :
         {Case{"\\n*", 9}, Case{"o*\\n?", 8}, Case{"\\n|", 10}, Case{"(^|\\n)", 4},
          Case{"\\s*$", 2}, Case{"^", 4}, Case{"$", 3}, Case{"x*", 12}, Case{"(?s).*", 1}}) {
        CAPTURE(pattern);
        CHECK(tree.grep({.pattern = pattern, .multiline = true, .only_matching = true})
                  .total_matches == matches);
        CHECK(tree.grep({.pattern = pattern,
                         .mode = GrepMode::count,
                         .multiline = true,
                         .only_matching = true})
                  .total_matches == matches);
    }
}

TEST_CASE("grep: lines are counted, or matches, and it is said which")
{
    const SearchTree tree;
    tree.write("a", "begin\n1\n2\nend\nbegin begin\n");
    const auto lines = tree.grep({.pattern = "(?s)begin.*?end", .multiline = true});
    CHECK(lines.total_matches == 4);
    CHECK(lines.counts_lines);
    const auto matches =
        tree.grep({.pattern = "(?s)begin.*?end", .mode = GrepMode::count, .multiline = true});
    CHECK(matches.total_matches == 1);
    CHECK_FALSE(matches.counts_lines);
    const auto counted = tree.grep({.pattern = "begin", .mode = GrepMode::count});
    CHECK(counted.total_matches == 2);
    CHECK(counted.counts_lines);
    const auto parts = tree.grep({.pattern = "begin", .only_matching = true});
    CHECK(parts.total_matches == 3);
    CHECK_FALSE(parts.counts_lines);
}

TEST_CASE("grep: a FIFO in the tree is not touched, a binary file is counted")
{
    const SearchTree tree;
    mkfifo((tree.path() + "/fifo").c_str(), 0600);
    tree.write("a", std::string("foo\0foo", 7));
    tree.write("bom", "\xEF\xBB\xBF"
                      "foo");
    const GrepReply reply = tree.grep({.pattern = "^foo"});
    CHECK(shown(reply, tree) == "bom:1 foo\n");
    CHECK(reply.binary_files == 1);
    CHECK(reply.searched_files == 1);
}

TEST_CASE("grep: ignored files are counted, a file that is named is searched")
{
    const SearchTree tree;
    tree.write(".git/config", "foo\n");
    tree.write(".gitignore", "/out/\n*.log\n");
    tree.write("out/a", "foo\n");
    tree.write("b.log", "foo\n");
    tree.write("c", "foo\n");
    const GrepReply reply = tree.grep({.pattern = "foo"});
    CHECK(shown(reply, tree) == "c:1 foo\n");
    CHECK(reply.ignored_files == 2);
    CHECK(tree.grep({.pattern = "foo", .no_ignore = true}).total_files == 3);
    CHECK(tree.grep({.pattern = "foo", .path = "b.log"}).total_files == 1);
}

TEST_CASE("grep: limit, offset, budget and line limit")
{
    const SearchTree tree;
    tree.write("a", "foo 1\nfoo 2\n");
    tree.write("b", "foo 3\nx\nfoo 4\n");
    const GrepReply page = tree.grep({.pattern = "foo", .limit = 2, .offset = 1});
    CHECK(shown(page, tree) == "a:2 foo 2\nb:1 foo 3\n");
    CHECK(page.truncated_by == "limit");
    CHECK(page.total_matches == 4);
    CHECK(page.complete);
    const GrepReply rest = tree.grep({.pattern = "foo", .limit = 2, .offset = 3});
    CHECK(shown(rest, tree) == "b:3 foo 4\n");
    CHECK(rest.truncated_by.empty());
    CHECK(tree.grep({.pattern = "foo", .offset = 9}).files.empty());

    const GrepReply cheap = tree.grep({.pattern = "foo", .budget = tree.path().size() + 10});
    CHECK(shown(cheap, tree) == "a:1 foo 1\n");
    CHECK(cheap.truncated_by == "budget");

    tree.write("c", "\xC3\xA4\xC3\xA4 foo\n");
    const GrepReply cut = tree.grep({.pattern = "foo", .path = "c", .line_limit = 3});
    REQUIRE(cut.files.size() == 1);
    CHECK(cut.files[0].lines[0].text == "foo");
    CHECK(cut.files[0].lines[0].cut_front);
    CHECK_FALSE(cut.files[0].lines[0].cut);
}

TEST_CASE("grep: a long line is cut around its match")
{
    const SearchTree tree;
    const std::string umlauts = "\xC3\xA4\xC3\xB6\xC3\xBC";
    const auto line = [&](const std::string& content, std::uint64_t limit) {
        tree.write("a", content + "\n");
        return tree.grep({.pattern = "needle", .line_limit = limit}).files.at(0).lines.at(0);
    };
    const auto middle =
        line(std::string(2000, 'x') + umlauts + "needle" + std::string(99, 'y'), 20);
    CHECK(middle.text == "xx" + umlauts + "needleyyyyyyyyy");
    CHECK(middle.cut_front);
    CHECK(middle.cut);
    const auto end = line(std::string(2000, 'x') + "needle", 20);
    CHECK(end.text == std::string(14, 'x') + "needle");
    CHECK(end.cut_front);
    CHECK_FALSE(end.cut);
    const auto begin = line("xneedle" + std::string(50, 'y'), 20);
    CHECK(begin.text == "xneedleyyyyyyyyyyyyy");
    CHECK_FALSE(begin.cut_front);
    CHECK(begin.cut);
}

TEST_CASE("grep: files and counts")
{
    const SearchTree tree;
    tree.write("a", "foo foo\nfoo\n");
    tree.write("b", "bar\n");
    tree.write("c", "foo\n");
    const GrepReply counts = tree.grep({.pattern = "foo", .mode = GrepMode::count});
    REQUIRE(counts.files.size() == 2);
    CHECK(counts.files[0].count == 2);
    CHECK(tree.grep({.pattern = "foo", .mode = GrepMode::count, .only_matching = true})
              .files[0]
              .count == 3);
    const GrepReply one = tree.grep({.pattern = "foo", .mode = GrepMode::files, .limit = 1});
    REQUIRE(one.files.size() == 1);
    CHECK(one.files[0].path == tree.path() + "/a");
    CHECK(one.total_files == 2);
    CHECK(one.truncated_by == "limit");
}

TEST_CASE("grep: context has groups and does not overlap")
{
    const SearchTree tree;
    tree.write("a", "1\n2\nfoo\n4\n5\n6\n7\nfoo\nfoo\n10\n");
    const GrepReply reply = tree.grep({.pattern = "foo", .before = 1, .after = 1});
    CHECK(shown(reply, tree) == "a-2 2\na:3 foo\na-4 4\n--\na-7 7\na:8 foo\na:9 foo\na-10 10\n");
}

TEST_CASE("grep: each page has a match and each match a page, whatever the context and the budget")
{
    const SearchTree tree;
    std::string text;
    for (int i = 1; i <= 60; ++i) {
        text += i % 25 == 4 || i % 25 == 5 ? "foo foo\n" : "a line without\n";
    }
    tree.write("a", text);
    tree.write("b", text);
    for (const std::uint32_t context : {0U, 2U, 1000U}) {
        for (const std::uint64_t budget : {1U, 100U, 300U, 900U, 9000U}) {
            for (const bool parts : {false, true}) {
                CAPTURE(context);
                CAPTURE(budget);
                CAPTURE(parts);
                std::uint64_t offset = 0;
                std::string found;
                GrepReply reply;
                do {
                    reply = tree.grep({.pattern = "foo",
                                       .before = context,
                                       .after = context / 2,
                                       .only_matching = parts,
                                       .offset = offset,
                                       .budget = budget});
                    const std::uint64_t begin = offset;
                    for (const auto& file : reply.files) {
                        for (const auto& line : file.lines) {
                            offset += line.is_match ? 1 : 0;
                            found += line.is_match ? " " + std::to_string(line.number) : "";
                        }
                    }
                    REQUIRE(offset > begin);
                } while (offset < reply.total_matches);
                const std::string once =
                    parts ? " 4 4 5 5 29 29 30 30 54 54 55 55" : " 4 5 29 30 54 55";
                CHECK(found == once + once);
            }
        }
    }
    const GrepReply tight = tree.grep(
        {.pattern = "foo", .before = 20, .offset = 2, .budget = tree.path().size() + 3 + 30});
    REQUIRE(tight.files.size() == 1);
    CHECK(tight.files[0].context_omitted == 18);
    CHECK(shown(tight, tree) == "a-27 a line without\na-28 a line without\na:29 foo foo\n");
}

TEST_CASE("grep: matches over lines")
{
    const SearchTree tree;
    tree.write("a", "x {\n  return\n}\ny {\n\n  return\n}\n");
    const GrepReply reply = tree.grep({.pattern = "\\{\\s+return", .multiline = true});
    CHECK(shown(reply, tree) == "a:1 x {\na:2   return\na:4 y {\na:5 \na:6   return\n");
    tree.write("large", std::string(9U << 20, 'x'));
    CHECK(tree.grep({.pattern = "x\\n", .multiline = true}).large_files == 1);
}

TEST_CASE("grep: an occurrence over lines is one unit, in counts as well")
{
    const SearchTree tree;
    tree.write("a", "a\nb\n");
    const GrepReply counts =
        tree.grep({.pattern = "a\\nb", .mode = GrepMode::count, .multiline = true});
    REQUIRE(counts.files.size() == 1);
    CHECK(counts.files[0].count == 1);
    const GrepReply reply =
        tree.grep({.pattern = "a\\nb", .multiline = true, .only_matching = true});
    REQUIRE(reply.files.size() == 1);
    REQUIRE(reply.files[0].lines.size() == 2);
    CHECK_FALSE(reply.files[0].lines[0].continues);
    CHECK(reply.files[0].lines[1].continues);
    CHECK(reply.total_matches == 1);
}

TEST_CASE("grep: UTF-16 with a byte order mark is searched as UTF-8")
{
    const SearchTree tree;
    using namespace std::string_view_literals;
    tree.write("be", "\xFE\xFF\0x\0\n\0f\0o\0o\xD8\x3D\xDE\x00"sv);
    tree.write("le", "\xFF\xFE"
                     "f\0o\0o\0\x00\xD8"
                     "a\0\x01\xDC"
                     "b"sv);
    tree.write("nul", "\xFF\xFE"
                      "f\0o\0o\0\0\0"sv);
    const GrepReply reply = tree.grep({.pattern = "foo"});
    CHECK(shown(reply, tree) == "be:2 foo\xF0\x9F\x98\x80\n"
                                "le:1 foo\xEF\xBF\xBD"
                                "a\xEF\xBF\xBD\xEF\xBF\xBD\n");
    CHECK(reply.binary_files == 1);
}

TEST_CASE("grep: a pattern that is looked for up to the end again and again keeps to its time")
{
    const SearchTree tree;
    std::string text;
    while (text.size() < (2U << 20)) {
        text += "b a ";
    }
    tree.write("slow", text);
    tree.write("z", "b\n");
    const auto begin = std::chrono::steady_clock::now();
    const GrepReply whole =
        tree.grep({.pattern = "a[^z]*z|b", .multiline = true, .line_limit = 9, .time_limit = 400});
    CHECK(whole.slow_files == 1);
    CHECK_FALSE(whole.complete);
    CHECK(whole.truncated_by == "time");
    REQUIRE_FALSE(whole.files.empty()); // other files get their time
    CHECK(whole.files.back().path.ends_with("/z"));
    const GrepReply line =
        tree.grep({.pattern = "a[^z]*z|b", .only_matching = true, .limit = 3, .time_limit = 400});
    CHECK_FALSE(line.complete);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));

    std::jthread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        tree.cancel();
    });
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a[^z]*z|b", .multiline = true}); }) ==
          ErrorCode::cancelled);
}

TEST_CASE("grep: a pattern that RE2 is slow with does not hold up a cancellation")
{
    // Letters at random: RE2's automaton gets a new state with each.
    std::string text;
    std::mt19937 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
    while (text.size() < 1'000'000) {
        text += random() % 2 == 0 ? 'a' : 'b';
    }

    struct Slow {
        const char* pattern;
        std::size_t size;
        bool multiline;
    };

    const std::string many = "[ab]{1000}";
    const std::string large = "[ab]*a" + many + many + many + many + many + many + many + "c";
    for (const Slow& slow :
         {Slow{"[ab]*a[ab]{1000}c", 1'000'000, true}, Slow{large.c_str(), 60'000, false},
          Slow{large.c_str(), 60'000, true}}) {
        CAPTURE(slow.multiline);
        const SearchTree tree;
        tree.write("slow", text.substr(0, slow.size));
        std::jthread canceller([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            tree.cancel();
        });
        const auto begin = std::clock(); // processor time: others may have the processors
        try {
            const GrepReply reply =
                tree.grep({.pattern = slow.pattern, .multiline = slow.multiline});
            CHECK(reply.slow_files + reply.large_files == 1); // not searched, and told
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::cancelled);
        }
        // A file that is searched whole gets more of RE2's time at once than a line.
        CHECK((std::clock() - begin) / CLOCKS_PER_SEC < (slow.multiline ? 60 : 5));
    }
}

TEST_CASE("grep: a large pattern finds what is in lines of ordinary length")
{
    const SearchTree tree;
    std::string pattern = "a";
    for (int i = 0; i < 9; ++i) {
        pattern += "[ab]{0,1000}";
    }
    pattern += "c";
    std::string text;
    for (int i = 1; i <= 20'000; ++i) {
        text += i % 5000 == 0 ? "xabc\n" : "b\n";
    }
    tree.write("f", text);
    const GrepReply reply = tree.grep({.pattern = pattern, .line_limit = 9});
    CHECK(reply.complete);
    CHECK(reply.slow_files == 0);
    CHECK(reply.total_matches == 4);
}

TEST_CASE("grep: ignore files that are too long are told, not obeyed whole")
{
    const SearchTree tree;
    tree.write(".git/HEAD", "");
    std::string rules = "first\n";
    for (int i = 0; i < 10'000; ++i) {
        rules += "a\n";
    }
    tree.write(".gitignore", rules + "last\n");
    tree.write("first", "foo\n");
    tree.write("last", "foo\n");
    tree.write("sub/.ignore", std::string((1U << 20) + 1, '\n'));
    const GrepReply reply = tree.grep({.pattern = "foo"});
    CHECK(shown(reply, tree) == "last:1 foo\n");
    CHECK(reply.capped_ignore_files == 2);
    CHECK(tree.glob({.pattern = "last", .respect_ignore = true}).capped_ignore_files == 2);
    CHECK(tree.grep({.pattern = "foo", .no_ignore = true}).capped_ignore_files == 0);
}

TEST_CASE("grep: include globs in the forms that paths have")
{
    const SearchTree tree;
    tree.write("src/a.c", "foo\n");
    tree.write("src/d/b.c", "foo\n");
    tree.write("c.c", "foo\n");
    const auto found = [&](const std::string& glob) {
        return shown(tree.grep({.pattern = "foo", .include = {glob}}), tree);
    };
    CHECK(found("./src/*.c") == "src/a.c:1 foo\n");
    CHECK(found("./*.c") == "c.c:1 foo\n");
    CHECK(found(tree.path() + "/src/*.c") == "src/a.c:1 foo\n");
    CHECK(found("/*" + tree.path().substr(tree.path().find('/', 1)) + "/{src,x}/*.c") ==
          "src/a.c:1 foo\n");
    CHECK(found("/**/d/*.c") == "src/d/b.c:1 foo\n");
    CHECK(found("/src/*.c") == "src/a.c:1 foo\n");
    CHECK(found("!" + tree.path() + "/src/**") == "c.c:1 foo\n");
    CHECK(found("/elsewhere/*.c").empty());
    CHECK(found(tree.path()).empty());
    CHECK(found("{" + tree.path() + "/src/*.c,/elsewhere/*.c}") == "src/a.c:1 foo\n");
    CHECK(found("{" + tree.path() + "/src,/elsewhere}/*.c") == "src/a.c:1 foo\n");
    CHECK(found("{" + tree.path() + "/src/d/*.c,c.*}") == "c.c:1 foo\nsrc/d/b.c:1 foo\n");
    CHECK(found("!{" + tree.path() + "/src/**,/elsewhere}") == "c.c:1 foo\n");
}

TEST_CASE("grep: a line longer than any buffer counts once")
{
    const SearchTree tree;
    tree.write("a", "foo" + std::string(5U << 20, 'x') + "foo\nfoo\nbar\n");
    const GrepReply reply = tree.grep({.pattern = "foo", .line_limit = 5});
    CHECK(reply.total_matches == 2);
    CHECK(shown(reply, tree) == "a:1 fooxx\na:2 foo\n");
    CHECK(shown(tree.grep({.pattern = "bar"}), tree) == "a:3 bar\n");
}

TEST_CASE("grep: cancelled is an error, out of time is an answer")
{
    const SearchTree tree;
    for (int i = 0; i < 200; ++i) {
        tree.write("d" + std::to_string(i) + "/a", std::string(200'000, 'a') + "\n");
    }
    const GrepReply reply = tree.grep({.pattern = "[b-z]+_[0-9]{3}", .time_limit = 1});
    CHECK_FALSE(reply.complete);
    CHECK(reply.truncated_by == "time");
    tree.cancel();
    CHECK(error_of([&] { (void)tree.grep({.pattern = "foo"}); }) == ErrorCode::cancelled);
}

TEST_CASE("grep: the guest's own process is not searched")
{
    const SearchTree tree;
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .path = "/proc/self"}); }) ==
          ErrorCode::permission_denied);
    CHECK(error_of([&] { (void)tree.grep({.pattern = "a", .path = "/proc/thread-self"}); }) ==
          ErrorCode::permission_denied);
}

TEST_CASE("a file that is replaced again and again is searched all the same")
{
    const SearchTree tree;
    tree.write("f", "needle\n");
    const berth::tests::Replacing replacing(tree.path() + "/f", tree.path() + "/next", "needle\n");
    const berth::protocol::GrepRequest request{.pattern = "needle", .path = "f"};
    for (int i = 0; i < 3000; ++i) {
        REQUIRE(tree.grep(request).total_matches == 1);
    }
}
