#include "sandbox/base/sha256.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <sys/resource.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using namespace std::string_literals;
using protocol::Edit;

namespace {

protocol::EditFileRequest request_for(const std::string& path, std::vector<Edit> edits)
{
    protocol::EditFileRequest request;
    request.path = path;
    request.edits = std::move(edits);
    request.diff_budget = 100'000;
    return request;
}

protocol::EditFileReply edit(const Machine& machine, const std::string& path,
                             std::vector<Edit> edits)
{
    return edit_file(request_for(path, std::move(edits)), machine.context);
}

Error edit_error(const Machine& machine, const std::string& path, std::vector<Edit> edits)
{
    return error_of([&] { (void)edit(machine, path, std::move(edits)); });
}

std::string repeat(const std::string& text, int times)
{
    std::string result;
    for (int i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

/// Runs `action` in a child that may have `room` bytes more than this process has already; 0 when
/// it returned true.
template <class Action>
int within_memory(rlim_t room, Action action)
{
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        char line[64] = {};
        const UniqueFd statm(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
        (void)read_full(statm.get(), line, sizeof(line) - 1);
        const rlim_t most = std::strtoull(line, nullptr, 10) * 4096 + room;
        const rlimit limit{most, most};
        ::setrlimit(RLIMIT_AS, &limit);
        try {
            ::_exit(action() ? 0 : 1);
        } catch (...) {
            ::_exit(2);
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("edits change what they name and nothing else")
{
    struct Row {
        std::string before, old_text, new_text;
        bool all;
        std::string after;
        std::uint64_t replacements;
    };

    const Row rows[] = {
        {"a b c", "b", "B", false, "a B c", 1},
        {"a b c", "b ", "", false, "a c", 1},
        {"a\tb\n", "\tb", "  b", false, "a  b\n", 1},
        {"aaaa", "aa", "b", true, "bb", 2},
        {"aaaaa", "aa", "b", true, "bba", 2},
        {"x", "x", "xx", true, "xx", 1},
        {"no newline at end", "end", "END", false, "no newline at END", 1},
        {"a\n", "\n", "", false, "a", 1},
        {"\xef\xbb\xbfint x;\n", "int x", "int y", false, "\xef\xbb\xbfint y;\n", 1},
        {"a\r\nb\r\nc\r\n", "a\nb\n", "1\n2\n3\n", false, "1\r\n2\r\n3\r\nc\r\n", 1},
        {"a\r\nb\r\n", "\nb", "\nB\nC", false, "a\r\nB\r\nC\r\n", 1},
        {"a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", 1},
        {"a\r\nb\r\n", "\r\n", "\n", true, "a\nb\n", 2},
        {"l\r\nm\r\n", "l\r\n", "L1\nL2\n", false, "L1\r\nL2\r\nm\r\n", 1},
        {"l\r\nm\r\n", "l\nm\n", "L\r\nM\r\n", false, "L\r\nM\r\n", 1},
        {"\xef\xbb\xbfint x;\n", "int", "\xef\xbb\xbflong", false, "\xef\xbb\xbflong x;\n", 1},
        {"\xef\xbb\xbfint x;\n", "\xef\xbb\xbfint", "long", false, "\xef\xbb\xbflong x;\n", 1},
        {"int x;\n", "int", "\xef\xbb\xbfint", false, "\xef\xbb\xbfint x;\n", 1},
        {"a\r\nb\n", "b\n", "c\nd\n", false, "a\r\nc\nd\n", 1},
        {"gr\xfc\xdf\xff gott", "\xdf", "ss", false, "gr\xfcss\xff gott", 1},
        {"a\0b\0c"s, "\0b"s, "\0\0B"s, false, "a\0\0B\0c"s, 1},
        {"\u00e4\u00f6\u00fc", "\u00f6", "oe", false, "\u00e4oe\u00fc", 1},
        {"$1 \\1 & .*", "\\1 & .*", "$& \\0", false, "$1 $& \\0", 1},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.before);
        CAPTURE(row.old_text);
        machine.put("f", row.before, 0755);
        const auto reply = edit(machine, "f", {{row.old_text, row.new_text, row.all}});
        CHECK(machine.get("f") == row.after);
        CHECK(reply.replacements == row.replacements);
        CHECK(reply.size == row.after.size());
        CHECK(reply.sha256 == sha256_hex(row.after));
        CHECK((machine.status("f").st_mode & 0777U) == 0755);
        CHECK_FALSE(reply.created);
        CHECK(machine.count() == 1);
    }
}

TEST_CASE("several edits go in order, on the result of the one before, all or none")
{
    const Machine machine;
    machine.put("f", "one two three\n");
    auto reply = edit(machine, "f", {{"one", "two"}, {"two", "2", true}, {"2 2 three", "done"}});
    CHECK(machine.get("f") == "done\n");
    CHECK(reply.replacements == 4);
    machine.put("f", "one two\n");
    const Error error = edit_error(machine, "f", {{"one", "1"}, {"one", "1"}});
    CHECK(error.code() == ErrorCode::text_not_found);
    CHECK(std::string(error.what()).find("edit 2 of 2") != std::string::npos);
    CHECK(machine.get("f") == "one two\n");
}

TEST_CASE("a file that is absent is created by an empty old_text, one with content is not")
{
    const Machine machine;
    auto reply = edit(machine, "new/dir/f", {{"", "hello\nworld"}, {"world", "all"}});
    CHECK(reply.created);
    CHECK(machine.get("new/dir/f") == "hello\nall");
    CHECK(reply.diff == "--- /dev/null\n+++ " + machine.home +
                            "/new/dir/f\n@@ -0,0 +1,2 @@\n+hello\n+all\n\\ No newline at end of "
                            "file\n");
    CHECK(edit_error(machine, "new/dir/f", {{"", "x"}}).code() == ErrorCode::invalid_argument);
    CHECK(edit_error(machine, "none", {{"a", "x"}}).code() == ErrorCode::not_found);
    CHECK(edit_error(machine, "no/ne", {{"a", "x"}}).code() == ErrorCode::not_found);
    CHECK_FALSE(machine.exists("no"));
    machine.put("empty", "");
    CHECK_FALSE(edit(machine, "empty", {{"", "x"}}).created);
    CHECK(machine.get("empty") == "x");
    CHECK(edit_error(machine, "empty", {{"x", "x"}}).code() == ErrorCode::invalid_argument);
    CHECK(edit_error(machine, "empty", {}).code() == ErrorCode::invalid_argument);
    auto request = request_for("dry/f", {{"", "x"}});
    request.dry_run = true;
    CHECK(edit_file(request, machine.context).created);
    CHECK_FALSE(machine.exists("dry"));
}

TEST_CASE("a dry run and a failed condition change nothing")
{
    const Machine machine;
    machine.put("f", "old\n");
    auto request = request_for("f", {{"old", "new"}});
    request.dry_run = true;
    auto reply = edit_file(request, machine.context);
    CHECK(reply.dry_run);
    CHECK(reply.sha256 == sha256_hex("new\n"));
    CHECK(reply.diff.find("-old\n+new\n") != std::string::npos);
    CHECK(machine.get("f") == "old\n");
    request.dry_run = false;
    request.if_sha256 = sha256_hex("else");
    const Error error = error_of([&] { (void)edit_file(request, machine.context); });
    CHECK(error.code() == ErrorCode::conflict);
    CHECK(error.details().at("sha256") == sha256_hex("old\n"));
    request.path = "never";
    const Error absent = error_of([&] { (void)edit_file(request, machine.context); });
    CHECK(absent.code() == ErrorCode::conflict);
    CHECK(std::string(absent.what()).ends_with("/never does not exist"));
    request.path = "f";
    request.if_sha256 = sha256_hex("old\n");
    CHECK_NOTHROW((void)edit_file(request, machine.context));
    CHECK(machine.get("f") == "new\n");
}

TEST_CASE("what may not be edited is refused")
{
    const Machine machine;
    machine.put("ro", "old", 0444);
    machine.put("big", "12345");
    machine.put("target", "old");
    machine.link("target", "link");
    machine.link(machine.base + "/outside/x", "out");
    ::mkdir((machine.home + "/d").c_str(), 0755);
    ::mkfifo((machine.home + "/pipe").c_str(), 0600);
    CHECK(edit_error(machine, "ro", {{"old", "new"}}).code() == ErrorCode::permission_denied);
    CHECK(edit_error(machine, "d", {{"old", "new"}}).code() == ErrorCode::is_directory);
    CHECK(edit_error(machine, "pipe", {{"old", "new"}}).code() == ErrorCode::not_a_file);
    CHECK(edit_error(machine, "out", {{"", "new"}}).code() == ErrorCode::invalid_path);
    CHECK(edit_error(machine, "/etc/passwd", {{"root", "new"}}).code() == ErrorCode::invalid_path);
    auto request = request_for("big", {{"3", "three"}});
    request.max_size = 4;
    CHECK(error_of([&] { (void)edit_file(request, machine.context); }).code() ==
          ErrorCode::too_large);
    request.max_size = 8;
    CHECK(error_of([&] { (void)edit_file(request, machine.context); }).code() ==
          ErrorCode::too_large);
    CHECK(machine.get("big") == "12345");
    CHECK(edit(machine, "link", {{"old", "new"}}).path == machine.home + "/target");
    CHECK(machine.get("target") == "new");
    CHECK(S_ISLNK(machine.status("link").st_mode));
}

TEST_CASE("edits that undo each other change nothing, and that is told")
{
    const Machine machine;
    machine.put("f", "a\n");
    CHECK(edit_error(machine, "f", {{"a", "b"}, {"b", "a"}}).code() == ErrorCode::invalid_argument);
    CHECK(machine.get("f") == "a\n");
}

TEST_CASE("many matches are refused with their lines")
{
    const Machine machine;
    machine.put("f", repeat("x\ny\n", 30));
    const Error error = edit_error(machine, "f", {{"x", "z"}});
    CHECK(error.code() == ErrorCode::ambiguous_match);
    CHECK(error.details().at("count") == "30");
    CHECK(error.details().at("lines").starts_with("1, 3, 5, 7"));
    CHECK(error.details().at("lines").ends_with(", 39"));
    machine.put("g", "a a\n\nb a");
    const Error some = edit_error(machine, "g", {{"a", "z"}});
    CHECK(some.details().at("lines") == "1, 1, 3");
    CHECK(std::string(some.what()).find("on lines 1 (2 times), 3") != std::string::npos);
}

TEST_CASE("more changes than the guest can keep are refused, and nothing is changed")
{
    const Machine machine;
    const std::string content = repeat("ab", 700'000);
    machine.put("f", content);
    CHECK(edit_error(machine, "f", {{"a", "c", true}, {"b", "d", true}}).code() ==
          ErrorCode::too_large);
    CHECK(machine.get("f") == content);
    CHECK(edit(machine, "f", {{"a", "c", true}}).replacements == 700'000);
}

TEST_CASE("a text that is not there is told with what is near, and how it differs")
{
    struct Row {
        std::string content, old_text, line, difference;
    };

    const Row rows[] = {
        {"a\nif (x) {\n\treturn 1;\n}\n", "    return 1;", "3", "tabs where old_text has spaces"},
        {"a\nif (x) {\n    return 1;\n}\n", "\treturn 1;", "3", "spaces where old_text has tabs"},
        {"a\nif (x) {\n    return 1;\n}\n", "if (x) {\n  return 1;\n}", "2",
         "the number of blanks"},
        {"foo bar  \nbaz quux\n", "foo bar\nbaz quux", "1", "blanks at the end"},
        {"foo bar\r\nbaz quux\n", "foo bar\nbaz quux", "1", "CRLF"},
        {"say \u201Chello\u201D now\n", "say \"hello\" now", "1", "quotes"},
        {"Hello World\n", "hello world", "1", "capital letters"},
        {"\tpass  \n", "\tpass\n", "1",
         "line 1 differs in blanks at the end (2 in the file, 0 in old_text)"},
        {"xa\r\nbaz\r\n", "baz ", "2",
         "line 2 differs in blanks at the end (0 in the file, 1 in old_text): `baz`"},
        {"xa\r\nbaz\r\n", "Baz ", "2",
         "capital letters and blanks at the end (0 in the file, 1 in old_text): `baz`"},
        {"xa\r\nbaz  \r\nend\r\n", "baz\nend", "2",
         "blanks at the end (2 in the file, 0 in old_text): `baz  `"},
        {"Say \u201Chello\u201D  now\n", "say \"hello\" now", "1",
         "capital letters, quotes, dashes or special blanks and the number of blanks"},
        {"Foo bar\r\nbaz quux\n", "foo bar\nbaz quux", "1",
         "capital letters and a carriage return (CRLF) at the end"},
        {"caf\u00e8 here\n", "caf\u00e9 here", "1", "the text"},
        {"a\nlast line", "last line\n", "2", "line 2 differs in the newline at its end"},
        {"a caf\u00e9 here\n", "a cafe\u0301 here", "1", "old_text has accents as"},
        {"a cafe\u0301 here\n", "a caf\u00e9 here", "1", "the file has accents as"},
        {"int compute(int a, int b);\n", "int compute(int a, int c);", "1", "the text"},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.old_text);
        machine.put("f", row.content);
        const Error error = edit_error(machine, "f", {{row.old_text, "z"}});
        CHECK(error.code() == ErrorCode::text_not_found);
        CHECK(error.details().at("lines") == row.line);
        CHECK_MESSAGE(error.hint().find(row.difference) != std::string::npos, error.hint());
    }
    machine.put("f", "completely\ndifferent\n");
    CHECK(edit_error(machine, "f", {{"0123456789", "z"}}).details().at("lines").empty());
    machine.put("f", "same line here 1\nsame line here 2\nsame line here 3\nsame line here 4\n");
    CHECK(edit_error(machine, "f", {{"same line here 5", "z"}}).details().at("lines") == "1,2,3");
}

TEST_CASE("property: only the match changes, and the reverse edit gives the original")
{
    const Machine machine;
    std::mt19937 engine(20261120);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    const auto number = [&](unsigned below) { return random() % below; };
    const auto text = [&](unsigned length) {
        std::string result;
        for (unsigned i = 0; i < length; ++i) {
            result += "ab\n\t \xc3\xa4"[number(7)];
        }
        return result;
    };
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        const std::string before = text(number(200));
        const std::string marker = "<" + text(number(30)) + ">";
        const std::string other = "[" + text(number(30)) + "]";
        const std::size_t at = before.empty() ? 0 : number(static_cast<unsigned>(before.size()));
        const std::string content = before.substr(0, at) + marker + before.substr(at);
        machine.put("f", content);
        (void)edit(machine, "f", {{marker, other}});
        CHECK(machine.get("f") == before.substr(0, at) + other + before.substr(at));
        (void)edit(machine, "f", {{other, marker}});
        CHECK(machine.get("f") == content);
    }
}

TEST_CASE("property: any list of edits gives what editing a string gives")
{
    const Machine machine;
    std::mt19937 engine(7);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    const auto text = [&](unsigned length) {
        std::string result;
        for (unsigned i = 0; i < length; ++i) {
            result += "abc\n"[random() % 4];
        }
        return result;
    };
    for (int round = 0; round < 500; ++round) {
        CAPTURE(round);
        const std::string before = text(random() % 60);
        std::string expected = before;
        std::vector<Edit> edits;
        std::uint64_t replacements = 0;
        for (int i = 0; i < 4; ++i) {
            const Edit one{text(1 + random() % 3), text(random() % 4), true};
            if (one.old_text == one.new_text || expected.find(one.old_text) == std::string::npos) {
                continue;
            }
            edits.push_back(one);
            for (std::size_t at = expected.find(one.old_text); at != std::string::npos;
                 at = expected.find(one.old_text, at + one.new_text.size())) {
                expected.replace(at, one.old_text.size(), one.new_text);
                ++replacements;
            }
        }
        if (edits.empty()) {
            continue;
        }
        machine.put("f", before);
        CHECK(edit(machine, "f", edits).replacements == replacements);
        CHECK(machine.get("f") == expected);
    }
}

TEST_CASE("matches across the pieces of the stream are found")
{
    const Machine machine;
    for (const std::size_t before : {262'140UL, 262'143UL, 262'144UL, 524'287UL}) {
        machine.put("f", std::string(before, 'x') + "needle" + std::string(300'000, 'y'));
        (void)edit(machine, "f", {{"needle", "pin"}, {"xpiny", "-"}});
        CHECK(machine.get("f") == std::string(before - 1, 'x') + "-" + std::string(299'999, 'y'));
    }
    const std::string longer = std::string(400'000, 'n') + "!";
    machine.put("f", std::string(700'001, 'n') + longer + "z");
    (void)edit(machine, "f", {{longer, "short"}});
    CHECK(machine.get("f") == std::string(700'001, 'n') + "shortz");
}

TEST_CASE("edits at the same time all survive")
{
    const Machine machine;
    std::string content;
    for (int i = 0; i < 64; ++i) {
        content += "<" + std::to_string(i) + ">\n";
    }
    machine.put("f", content);
    machine.link("f", "alias");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = t * 8; i < t * 8 + 8; ++i) {
                (void)edit(machine, i % 2 == 0 ? "f" : "alias",
                           {{"<" + std::to_string(i) + ">", "[" + std::to_string(i) + "]"}});
            }
        });
    }
    threads.clear();
    std::replace(content.begin(), content.end(), '<', '[');
    std::replace(content.begin(), content.end(), '>', ']');
    CHECK(machine.get("f") == content);
    CHECK(machine.count() == 2);
}

TEST_CASE("a file of 100 MB is edited within little memory")
{
    const Machine machine;
    {
        const UniqueFd fd(
            ::open((machine.home + "/f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        const std::string block = repeat("0123456789 abcdefghij klmnopqrst\n", 32'000);
        for (int i = 0; i < 100; ++i) {
            write_full(fd.get(), block);
        }
        write_full(fd.get(), "the needle\nlast");
    }
    const int failed = within_memory(24UL << 20U, [&] {
        const auto reply = edit(machine, "f", {{"the needle", "the pin"}, {"last", "end"}});
        return reply.diff.find("@@ -3199998,5 +3199998,5 @@") != std::string::npos &&
               reply.diff.ends_with("-the needle\n+the pin\n-last\n\\ No newline at end of file\n"
                                    "+end\n\\ No newline at end of file\n");
    });
    CHECK(failed == 0);
    CHECK(machine.status("f").st_size == 100LL * 32'000 * 33 + 11);
}

TEST_CASE("one line of 100 MB of which all changes is edited within little memory")
{
    const Machine machine;
    constexpr std::size_t block = 5000;
    constexpr int blocks = 20'000;
    {
        const UniqueFd fd(
            ::open((machine.home + "/f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        const std::string part(100 * block, 'x');
        for (int i = 0; i < blocks / 100; ++i) {
            write_full(fd.get(), part);
        }
    }
    const int failed = within_memory(20UL << 20U, [&] {
        const auto reply =
            edit(machine, "f", {{std::string(block, 'x'), std::string(block, 'y'), true}});
        return reply.replacements == blocks && reply.diff_truncated && reply.diff.size() < 1000 &&
               reply.size == block * blocks;
    });
    CHECK(failed == 0);
    const UniqueFd fd(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    std::string part(100 * block, '\0');
    for (int i = 0; i < blocks / 100; ++i) {
        REQUIRE(read_full(fd.get(), part.data(), part.size()) == part.size());
        REQUIRE(part.find_first_not_of('y') == std::string::npos);
    }
    CHECK(read_full(fd.get(), part.data(), 1) == 0);
}
