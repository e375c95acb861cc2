#include "tools/glob_files.hpp"
#include "tools/grep_files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace protocol = berth::protocol;
using berth::tools::GlobFiles;
using berth::tools::GrepFiles;
using berth::tools::Settings;

namespace {

protocol::GrepLine line(std::uint64_t number, const std::string& text, bool match = true,
                        bool group = false)
{
    return {number, text, match, false, group};
}

protocol::GrepReply two_files()
{
    protocol::GrepReply reply;
    reply.root = "/w";
    reply.files = {{"/w/a", 2, {line(1, "one"), line(5, "five")}}, {"/w/b", 1, {line(2, "two")}}};
    reply.total_files = 2;
    reply.total_matches = 3;
    reply.searched_files = 9;
    return reply;
}

} // namespace

TEST_CASE("lines come as path:line:text, the last line has the totals")
{
    auto reply = two_files();
    reply.ignored_files = 4;
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{}).text ==
          "/w/a:1:one\n/w/a:5:five\n/w/b:2:two\n"
          "[3 matches in 2 files · 4 files skipped as ignored (no_ignore)]");
}

TEST_CASE("a binary file is not said to have no match")
{
    protocol::GrepReply reply;
    reply.root = "/w/a.bin";
    reply.binary_files = 1;
    CHECK(
        GrepFiles::render({.pattern = "o"}, reply, Settings{}).text ==
        "[/w/a.bin was not searched for o: there is nothing but 1 file with a NUL byte or another "
        "mark of binary content (grep -a in bash_exec searches it)]");
    reply.ignored_files = 5; // of these nobody knows what they are
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{}).text ==
          "[No matches for o in /w/a.bin (0 files searched) · 5 files skipped as ignored "
          "(no_ignore) · 1 file skipped as binary]");
    reply.searched_files = 1;
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{}).text.starts_with("[No matches"));
}

TEST_CASE("what was counted is called by its name")
{
    auto reply = two_files();
    reply.counts_lines = true;
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{})
              .text.ends_with("[3 matching lines in 2 files]"));
    reply.total_matches = 1;
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{})
              .text.find("[1 matching line in 2 files") != std::string::npos);
}

TEST_CASE("context lines have dashes, groups are divided")
{
    protocol::GrepReply reply = two_files();
    reply.files = {{"/w/a", 2, {line(1, "x", false), line(2, "one"), line(7, "two", true, true)}},
                   {"/w/b", 1, {line(2, "two")}}};
    const auto text = GrepFiles::render({.pattern = "o", .context = 1}, reply, Settings{}).text;
    CHECK(text.starts_with("/w/a-1-x\n/w/a:2:one\n--\n/w/a:7:two\n--\n/w/b:2:two\n["));
}

TEST_CASE("files and counts are lists of paths")
{
    using protocol::GrepMode;
    CHECK(GrepFiles::render({.pattern = "o", .mode = GrepMode::files}, two_files(), Settings{})
              .text.starts_with("/w/a\n/w/b\n["));
    CHECK(GrepFiles::render({.pattern = "o", .mode = GrepMode::count}, two_files(), Settings{})
              .text.starts_with("/w/a:2\n/w/b:1\n["));
}

TEST_CASE("a list of files has no number of matches: each was left at its first")
{
    auto reply = two_files();
    reply.total_matches = 0;
    reply.large_files = 1;
    const auto text =
        GrepFiles::render({.pattern = "o", .mode = protocol::GrepMode::files}, reply, Settings{})
            .text;
    CHECK(text.ends_with("[2 files with a match · 1 file too large for multiline]"));
}

TEST_CASE("no match says where was searched")
{
    protocol::GrepReply reply;
    reply.root = "/w";
    reply.searched_files = 12;
    CHECK(GrepFiles::render({.pattern = "zz"}, reply, Settings{}).text ==
          "[No matches for zz in /w (12 files searched)]");
}

TEST_CASE("what is cut says why and where to go on")
{
    auto reply = two_files();
    reply.total_matches = 100;
    reply.truncated_by = "limit";
    const auto page =
        GrepFiles::render({.pattern = "o", .limit = 3, .offset = 10}, reply, Settings{});
    CHECK(page.text.find("showing 11–13 · cut at limit · next: offset 13") != std::string::npos);
    CHECK(page.data->at("next_offset") == 13);

    Settings small;
    small.output_budget = 25;
    const auto cut = GrepFiles::render({.pattern = "o"}, two_files(), small);
    CHECK(cut.text.starts_with("/w/a:1:one\n/w/a:5:five\n["));
    CHECK(cut.data->at("truncated_by") == "budget");
    CHECK(cut.data->at("listed") == 2);
    CHECK(cut.data->at("next_offset") == 2);
}

TEST_CASE("context gives way to the match that it belongs to, farthest first")
{
    auto reply = two_files();
    reply.files = {
        {"/w/a", 2, {line(7, "x", false), line(8, "y", false), line(9, "one"), line(10, "two")}}};
    reply.truncated_by = "limit";
    Settings small;
    small.output_budget = 2 * std::string("/w/a:9:one\n").size();
    const auto page = [&](std::int64_t offset) {
        return GrepFiles::render({.pattern = "o", .before = 2, .limit = 1, .offset = offset}, reply,
                                 small);
    };
    auto shown = page(1);
    CHECK(shown.text ==
          "/w/a-8-y\n/w/a:9:one\n[3 matches in 2 files · showing 2–2 · cut at the size "
          "of a result · 1 line of context before the first match left out · next: "
          "offset 2]");
    CHECK(shown.data->at("context_omitted") == 1);
    CHECK(shown.data->at("listed") == 1);
    CHECK(shown.data->at("files")[0].at("lines")[0].at("number") == 8);
    reply.files[0].context_omitted = 40; // for which already the guest had no room
    reply.files[0].lines.pop_back();
    shown = page(2);
    CHECK(shown.text.find("showing 3–3 · cut at limit · 41 lines of context") != std::string::npos);
    CHECK(shown.data->at("next_offset") == 0);
    reply.truncated_by.clear();
    CHECK(page(2).data->at("truncated_by") == "budget");
    small.output_budget = 5; // less than the match alone
    CHECK(page(1).text.starts_with("/w/a:9:one\n["));
    CHECK(page(1).data->at("next_offset") == 2);
    using protocol::GrepMode;
    CHECK(GrepFiles::render({.pattern = "o", .mode = GrepMode::count}, two_files(), small)
              .text.starts_with("/w/a:2\n["));
}

TEST_CASE("context that is cut behind the last match is no reason to go on")
{
    auto reply = two_files();
    reply.files = {{"/w/a", 1, {line(1, "one"), line(2, "x", false), line(3, "y", false)}}};
    reply.total_files = 1;
    reply.total_matches = 1;
    Settings small;
    small.output_budget = 20;
    const auto page = GrepFiles::render({.pattern = "o", .after = 2}, reply, small);
    CHECK(page.text == "/w/a:1:one\n/w/a-2-x\n[1 match in 1 file · cut at the size of a result]");
    CHECK(page.data->at("next_offset") == 0);
}

TEST_CASE("where nothing was found it is said what may be why")
{
    protocol::GrepReply reply;
    reply.root = "/w";
    const auto text = [&](const GrepFiles::Args& args) {
        return GrepFiles::render(args, reply, Settings{}).text;
    };
    CHECK(text({.pattern = "o"}) == "[No matches for o in /w (0 files searched)]");
    const char* const told = "no file there is one that include and type choose";
    CHECK(text({.pattern = "\\<o\\>"}).find("\\b is a word's edge") != std::string::npos);
    CHECK(text({.pattern = "\\<o", .fixed = true}).find("word's edge") == std::string::npos);
    CHECK(text({.pattern = "o", .include = {"*.c,*.h"}}).find(told) != std::string::npos);
    CHECK(text({.pattern = "o", .type = "c"}).find(told) != std::string::npos);
    reply.searched_files = 1;
    CHECK(text({.pattern = "o", .type = "c"}).find(told) == std::string::npos);
}

TEST_CASE("a page without a match tells its true cause")
{
    auto reply = two_files();
    reply.files.clear();
    const auto text = [&](std::int64_t offset) {
        return GrepFiles::render({.pattern = "o", .offset = offset}, reply, Settings{}).text;
    };
    CHECK(text(3) == "[3 matches in 2 files · offset 3 is past the end]");
    CHECK(text(2) ==
          "[3 matches in 2 files · the files changed while they were searched; search again]");
    reply.complete = false;
    reply.truncated_by = "time";
    CHECK(text(3).find("offset 3 is past what was found · ran out of") != std::string::npos);
    CHECK(text(2).ends_with("or more · ran out of time; narrow the path]"));
}

TEST_CASE("a search ran out of time has totals that say so")
{
    auto reply = two_files();
    reply.complete = false;
    reply.truncated_by = "time";
    const auto text = GrepFiles::render({.pattern = "o"}, reply, Settings{}).text;
    CHECK(text.find("3 matches or more in 2 files or more") != std::string::npos);
    CHECK(text.find("ran out of time") != std::string::npos);
}

TEST_CASE("a match over several lines is several lines of the report")
{
    auto reply = two_files();
    reply.files = {{"/w/a", 1, {line(3, "one\r\ntwo")}}};
    CHECK(GrepFiles::render({.pattern = "o", .multiline = true}, reply, Settings{})
              .text.starts_with("/w/a:3:one\n/w/a:4:two\n["));
    reply.files[0].lines[0].cut = true;
    CHECK(GrepFiles::render({.pattern = "o"}, reply, Settings{}).text.find("two [cut]\n") !=
          std::string::npos);
}

TEST_CASE("an occurrence over lines is one of the page")
{
    auto reply = two_files();
    reply.files = {{"/w/a", 1, {line(3, "a"), line(4, "b")}}};
    reply.files[0].lines[1].continues = true;
    reply.total_files = 1;
    reply.total_matches = 1;
    const auto result = GrepFiles::render(
        {.pattern = "a\\nb", .multiline = true, .only_matching = true}, reply, Settings{});
    CHECK(result.text == "/w/a:3:a\n/w/a:4:b\n[1 match in 1 file]");
    CHECK(result.data->at("listed") == 1);
}

TEST_CASE("a line that is cut in front says so")
{
    auto reply = two_files();
    reply.files = {{"/w/a", 1, {line(3, "x needle y")}}};
    reply.files[0].lines[0].cut_front = true;
    const auto result = GrepFiles::render({.pattern = "needle"}, reply, Settings{});
    CHECK(result.text.starts_with("/w/a:3:[cut] x needle y\n["));
    CHECK(result.data->at("files")[0].at("lines")[0].at("cut") == true);
}

TEST_CASE("no match of a dot that stops at newlines says so")
{
    const auto hints = [](const std::string& pattern, bool multiline) {
        return GrepFiles::render({.pattern = pattern, .multiline = multiline}, {}, Settings{})
                   .text.find("(?s)") != std::string::npos;
    };
    CHECK(hints("a.*b", true));
    CHECK(hints("[]x]a.b", true));
    CHECK(hints("(?i)a.b", true));
    CHECK_FALSE(hints("a.*b", false));
    CHECK_FALSE(hints("(?is)a.*b", true));
    CHECK_FALSE(hints("a(?s:.*)b", true));
    CHECK_FALSE(hints("a\\.b[.]c[[:digit:].]", true));
    CHECK_FALSE(hints("a[\\].]", true));
    CHECK_FALSE(hints("[.", true));
}

TEST_CASE("what could not be read is named")
{
    auto reply = two_files();
    reply.unreadable = 3;
    reply.unreadable_paths = {"/w/d/", "/w/a\nb"};
    reply.capped_ignore_files = 1;
    reply.slow_files = 2;
    const auto result = GrepFiles::render({.pattern = "o"}, reply, Settings{});
    CHECK(result.text.ends_with(
        "2 files left before the end, as the pattern takes too long there · 1 ignore file too "
        "long to obey whole · 3 could not be read: /w/d/, /w/a\\x0ab, …]"));
    CHECK(result.data->at("unreadable_paths")[1] == "/w/a\nb");
    CHECK(result.data->at("slow_files") == 2);
}

TEST_CASE("limit 0 is bounded by the text only")
{
    CHECK(GrepFiles::request({.pattern = "a"}, Settings{}).limit == 250);
    CHECK(GrepFiles::request({.pattern = "a", .limit = 0}, Settings{}).limit == 30'000);
    CHECK(GrepFiles::request({.pattern = "a", .limit = 7}, Settings{}).limit == 7);
    CHECK(GlobFiles::request({.pattern = "a"}, Settings{}).limit == 1000);
    Settings small;
    small.output_budget = 300;
    CHECK(GrepFiles::request({.pattern = "a"}, Settings{}).line_limit == 500);
    CHECK(GrepFiles::request({.pattern = "a"}, small).line_limit == 150); // a match fits
}

TEST_CASE("context counts for both sides unless one is given")
{
    const auto request =
        GrepFiles::request({.pattern = "a", .before = 0, .context = 3}, Settings{});
    CHECK(request.before == 0);
    CHECK(request.after == 3);
}

TEST_CASE("glob lists paths and says what is missing")
{
    protocol::GlobReply reply;
    reply.root = "/w";
    reply.paths = {"/w/new", "/w/a\nb"};
    reply.total = 2;
    CHECK(GlobFiles::render({.pattern = "*"}, reply, Settings{}).text == "/w/new\n/w/a\\x0ab\n");

    reply.total = 5;
    reply.truncated_by = "limit";
    const auto cut = GlobFiles::render({.pattern = "*"}, reply, Settings{});
    CHECK(cut.text.find("[newest 2 of 5 files; raise limit or narrow the pattern]") !=
          std::string::npos);

    reply.complete = false;
    reply.unreadable = 1;
    reply.unreadable_paths = {"/w/locked/"};
    reply.capped_ignore_files = 1;
    reply.truncated_by = "time";
    const auto stopped = GlobFiles::render({.pattern = "*"}, reply, Settings{}).text;
    CHECK(stopped.find("5 or more files") != std::string::npos);
    CHECK(stopped.find("1 could not be read: /w/locked/") != std::string::npos);

    protocol::GlobReply none;
    none.root = "/w";
    CHECK(GlobFiles::render({.pattern = "*.q"}, none, Settings{}).text ==
          "No files found: nothing matches *.q in /w\n");
    none.ignored = 2;
    none.git_left_out = true;
    CHECK(GlobFiles::render({.pattern = "*.q"}, none, Settings{}).text ==
          "No files found: nothing matches *.q in /w\n[2 files skipped as ignored "
          "(respect_ignore) · .git left out: name it in path or pattern (.git/**)]");
}
