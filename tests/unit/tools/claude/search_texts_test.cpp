#include "tools/aliases.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/claude/shown_path.hpp"
#include "tools/glob_files.hpp"
#include "tools/grep_files.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

// What a model reads for a reply of the guest: of searches.

namespace berth::tools {
namespace {

using nlohmann::json;

protocol::GrepLine line(std::uint64_t number, const std::string& text, bool match = true)
{
    protocol::GrepLine result;
    result.number = number;
    result.text = text;
    result.is_match = match;
    return result;
}

protocol::GrepReply two_files()
{
    protocol::GrepReply reply;
    reply.root = "/w";
    reply.files = {{"/w/a", 2, {line(1, "one"), line(5, "five")}}, {"/w/d/b", 1, {line(2, "two")}}};
    reply.total_files = 2;
    reply.total_matches = 3;
    reply.searched_files = 9;
    reply.ignored_files = 4;
    return reply;
}

std::string grep(const protocol::GrepReply& reply, json arguments, const Settings& settings = {})
{
    arguments["pattern"] = "o";
    const auto args =
        GrepFiles::decode(claude::Grep::canonical(canonical_arguments(arguments, {}), settings));
    auto result = GrepFiles::render(args, reply, settings);
    claude::Grep::phrase(arguments, settings, result);
    return result.text;
}

std::string glob(const protocol::GlobReply& reply, json arguments = json::object())
{
    arguments.emplace("pattern", "*");
    const auto args = GlobFiles::decode(claude::Glob::canonical(arguments, {}));
    auto result = GlobFiles::render(args, reply, {});
    claude::Glob::phrase(arguments, {}, result);
    return result.text;
}

} // namespace

TEST_CASE("Grep: paths, lines and counts")
{
    CHECK(grep(two_files(), json::object()) == "Found 2 files\na\nd/b");
    CHECK(grep(two_files(), {{"output_mode", "content"}}) == "a:1:one\na:5:five\nd/b:2:two");
    CHECK(grep(two_files(), {{"output_mode", "content"}, {"-n", false}}) ==
          "a:one\na:five\nd/b:two");
    CHECK(grep(two_files(), {{"output_mode", "count"}}) ==
          "a:2\nd/b:1\n\nFound 3 total occurrences across 2 files.");
    auto single = two_files();
    single.files.resize(1);
    single.total_files = 1;
    single.total_matches = 1;
    CHECK(grep(single, json::object()) == "Found 1 file\na");
    CHECK(grep(single, {{"output_mode", "count"}})
              .ends_with("Found 1 total occurrence across 1 file."));
}

TEST_CASE("Grep: lines of the one file that was asked for come without its name")
{
    auto reply = two_files();
    reply.files.resize(1);
    reply.root = "/w/a";
    CHECK(grep(reply, {{"output_mode", "content"}, {"path", "a"}}) == "1:one\n5:five");
    CHECK(grep(reply, {{"output_mode", "content"}, {"path", "a"}, {"-n", false}}) == "one\nfive");
    CHECK(grep(reply, {{"path", "a"}}) == "Found 1 file\na");
}

TEST_CASE("Grep: context and groups")
{
    auto reply = two_files();
    reply.files = {{"/w/a",
                    2,
                    {line(1, "one"), line(2, "x", false), line(8, "y", false),
                     line(9, "two\nlines\n"), line(11, "z", false)}},
                   {"/w/b", 1, {line(3, "three")}}};
    CHECK(grep(reply, {{"output_mode", "content"}, {"-A", 1}}) ==
          "a:1:one\na-2-x\n--\na-8-y\na:9:two\na:10:lines\na-11-z\n--\nb:3:three");
    CHECK(grep(reply, {{"output_mode", "content"}, {"-A", 0}, {"-C", nullptr}}).find("--") ==
          std::string::npos);
    reply.files[0].lines = {line(1, "cut")};
    reply.files[0].lines[0].cut = true;
    CHECK(grep(reply, {{"output_mode", "content"}}).starts_with("a:1:cut [cut]\n"));
}

TEST_CASE("Grep: a page says what made it one")
{
    auto reply = two_files();
    reply.files.resize(1);
    reply.files[0].lines.resize(1);
    reply.truncated_by = "limit";
    CHECK(grep(reply, {{"output_mode", "content"}, {"head_limit", 1}}) ==
          "a:1:one\n\n[Showing results with pagination = limit: 1]");
    CHECK(grep(reply, {{"output_mode", "content"}, {"head_limit", 1}, {"offset", 1}})
              .ends_with("[Showing results with pagination = limit: 1, offset: 1]"));
    CHECK(grep(reply, {{"output_mode", "content"}})
              .ends_with("[Showing results with pagination = limit: 250]"));
    CHECK(grep(reply, {{"output_mode", "count"}, {"head_limit", 1}})
              .ends_with("across 2 files. with pagination = limit: 1"));
    CHECK(grep(reply, {{"head_limit", 1}}) == "Found 1 file limit: 1\na");
    reply.truncated_by = "";
    reply.files.clear();
    CHECK(grep(reply, {{"offset", 9}}) ==
          "No entries at this offset. [Showing results with pagination = offset: 9]");
    CHECK(grep(reply, {{"output_mode", "content"}, {"offset", 9}}) ==
          "No entries at this offset\n\n[Showing results with pagination = offset: 9]");
    CHECK(grep(reply, {{"output_mode", "count"}, {"offset", 9}}) ==
          "No entries at this offset\n\nFound 3 total occurrences across 2 files. with pagination "
          "= offset: 9");
}

TEST_CASE("Grep: nothing found, and what was not searched for it")
{
    protocol::GrepReply none;
    none.root = "/w";
    none.searched_files = 3;
    CHECK(grep(none, json::object()) == "No files found");
    CHECK(grep(none, {{"output_mode", "content"}}) == "No matches found");
    CHECK(grep(none, {{"output_mode", "count"}}) ==
          "No matches found\n\nFound 0 total occurrences across 0 files.");
    none.ignored_files = 2;
    none.binary_files = 1;
    CHECK(grep(none, json::object()) ==
          "No files found\n[2 files skipped as ignored by .gitignore · 1 file skipped as binary]");
    auto some = two_files();
    some.unreadable = 1;
    some.unreadable_paths = {"/w/secret"};
    some.complete = false;
    const auto text = grep(some, json::object());
    CHECK(text.starts_with("Found 2 files\na\nd/b\n[the search ran out of time"));
    CHECK(text.find("/w/secret") != std::string::npos);
}

TEST_CASE("Grep: a result that is full says where it goes on")
{
    Settings settings;
    settings.output_budget = 16; // one of the lines with their absolute paths
    const auto text = grep(two_files(), {{"output_mode", "content"}}, settings);
    CHECK(text == "a:1:one\n[the result is full; next: offset 1]");
}

TEST_CASE("Glob: one path a line, and how many are not listed")
{
    protocol::GlobReply reply;
    reply.root = "/w";
    reply.paths = {"/w/b.c", "/w/d/a.c"};
    reply.total = 2;
    CHECK(glob(reply) == "b.c\nd/a.c");
    reply.total = 150;
    reply.truncated_by = "limit";
    CHECK(glob(reply) == "b.c\nd/a.c\n(Showing 2 of 150 matching files; 148 more are not listed. "
                         "Narrow the pattern or path to see the rest.)");
    reply.paths.clear();
    reply.total = 0;
    CHECK(glob(reply) == "No files found");
    reply.complete = false;
    reply.git_left_out = true;
    reply.unreadable = 1;
    reply.unreadable_paths = {"/w/x/"};
    const auto text = glob(reply);
    CHECK(text.starts_with("No files found\n[the search ran out of time"));
    CHECK(text.find(".git is left out") != std::string::npos);
    CHECK(text.find("/w/x/") != std::string::npos);
}

TEST_CASE("Glob: a pattern that begins elsewhere gives absolute paths")
{
    protocol::GlobReply reply;
    reply.root = "/w";
    reply.paths = {"/w/b.c"};
    reply.total = 1;
    for (const char* pattern : {"/w/*.c", "~/*.c", "../w/*.c", "{/w/*.c,/v/*.c}", "{{~/a,~/b},~/c}",
                                "./../w/*", "././../w/*"}) {
        CAPTURE(pattern);
        CHECK(glob(reply, {{"pattern", pattern}}) == "/w/b.c");
        CHECK(glob(reply, {{"pattern", pattern}, {"path", "sub"}}) == "/w/b.c");
    }
    for (const char* pattern : {"*.c", "./*.c", "{b,c}.c", "./~/b.c", "..b.c", "{"}) {
        CAPTURE(pattern);
        CHECK(glob(reply, {{"pattern", pattern}}) == "b.c");
    }
}

TEST_CASE("paths are relative to the working directory, unless an absolute one was asked for")
{
    const json data = {{"root", "/home/user/src"}};
    const auto shown = [&](const char* asked, const char* path) {
        return claude::shown_path({{"path", asked}}, data, path);
    };
    CHECK(claude::shown_path(json::object(), data, "/home/user/src/a") == "a");
    CHECK(claude::shown_path({{"path", nullptr}}, data, "/home/user/src/a") == "a");
    CHECK(shown(".", "/home/user/src/d/a") == "d/a");
    CHECK(shown("./", "/home/user/src/a") == "a");
    CHECK(shown("src", "/home/user/src/a") == "src/a");
    CHECK(shown("./src//", "/home/user/src/a") == "src/a");
    CHECK(shown("../src", "/home/user/src/a") == "../src/a");
    CHECK(shown("src", "/home/user/src") == "src"); // a search of one file
    CHECK(shown("/home/user/src", "/home/user/src/a") == "/home/user/src/a");
    CHECK(shown("~/src", "/home/user/src/a") == "/home/user/src/a");
    CHECK(shown("src", "/elsewhere/a") == "/elsewhere/a");
    CHECK(shown("src", "/home/user/src2/a") == "/home/user/src2/a");
    CHECK(claude::shown_path(json::object(), {{"root", "/"}}, "/etc/x") == "etc/x");
    CHECK(shown("src", "/home/user/src/a\nb").find('\n') == std::string::npos);
}

} // namespace berth::tools
