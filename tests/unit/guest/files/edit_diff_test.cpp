#include "sandbox/guest/files/line_diff.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <random>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using protocol::Edit;

namespace {

std::string numbered(int from, int to)
{
    std::string result;
    for (int i = from; i <= to; ++i) {
        result += "line " + std::to_string(i) + "\n";
    }
    return result;
}

protocol::EditFileReply edit(const Machine& machine, std::vector<Edit> edits,
                             std::uint64_t budget = 100'000)
{
    protocol::EditFileRequest request;
    request.path = "f";
    request.edits = std::move(edits);
    request.diff_budget = budget;
    return edit_file(request, machine.context);
}

/// Edits `before`, and has GNU patch do to a copy what the diff says. True when both agree.
bool patch_agrees(const Machine& machine, const std::string& before, std::vector<Edit> edits)
{
    machine.put("f", before);
    machine.put("copy", before);
    machine.put("diff", edit(machine, std::move(edits)).diff);
    const std::string command =
        "patch --binary -s -F0 " + machine.home + "/copy " + machine.home + "/diff >/dev/null 2>&1";
    const int status = std::system(command.c_str());
    return status == 0 && machine.get("copy") == machine.get("f");
}

bool has_patch()
{
    return std::system("patch --version >/dev/null 2>&1") == 0;
}

} // namespace

TEST_CASE("a diff has three lines of context and right line numbers")
{
    const Machine machine;
    machine.put("f", numbered(1, 20));
    const std::string header = "--- " + machine.home + "/f\n+++ " + machine.home + "/f\n";
    CHECK(edit(machine, {{"line 10\n", "ten\nand more\n"}, {"line 1\n", ""}}).diff ==
          header + "@@ -1,4 +1,3 @@\n-line 1\n line 2\n line 3\n line 4\n"
                   "@@ -7,7 +6,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+and more\n"
                   " line 11\n line 12\n line 13\n");
    machine.put("f", numbered(1, 20));
    CHECK(edit(machine, {{"line 5\n", "five\n"}, {"line 12\n", "twelve\n"}}).diff ==
          header +
              "@@ -2,14 +2,14 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n"
              " line 8\n line 9\n line 10\n line 11\n-line 12\n+twelve\n line 13\n line 14\n"
              " line 15\n");
    machine.put("f", "only\n");
    CHECK(edit(machine, {{"only\n", ""}}).diff == header + "@@ -1,1 +0,0 @@\n-only\n");
}

TEST_CASE("lines of old_text that stay are context, not changes")
{
    const Machine machine;
    machine.put("f", "a\nb\nc\nd\ne\n");
    const auto diff = edit(machine, {{"a\nb\nc\nd\ne\n", "a\nB\nc\nd\nE\n"}}).diff;
    CHECK(diff.find("@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n-e\n+E\n") != std::string::npos);
}

TEST_CASE("a missing newline at the end is said")
{
    const Machine machine;
    const std::string mark = "\\ No newline at end of file\n";
    machine.put("f", "a\nb");
    CHECK(edit(machine, {{"b", "c"}}).diff.ends_with(" a\n-b\n" + mark + "+c\n" + mark));
    machine.put("f", "a\nb");
    CHECK(edit(machine, {{"a", "c"}}).diff.ends_with("-a\n+c\n b\n" + mark));
    machine.put("f", "a\nb");
    CHECK(edit(machine, {{"b", "b\n"}}).diff.ends_with(" a\n-b\n" + mark + "+b\n"));
    machine.put("f", "a\nb\n");
    CHECK(edit(machine, {{"b\n", "b"}}).diff.ends_with(" a\n-b\n+b\n" + mark));
}

TEST_CASE("a diff keeps to its budget, by whole hunks")
{
    const Machine machine;
    std::vector<Edit> edits;
    for (int i = 10; i <= 90; i += 10) {
        edits.push_back({"line " + std::to_string(i) + "\n", "changed\n"});
    }
    machine.put("f", numbered(1, 99));
    const std::string whole = edit(machine, edits).diff;
    for (std::uint64_t budget = 0; budget <= whole.size(); budget += 37) {
        CAPTURE(budget);
        machine.put("f", numbered(1, 99));
        const auto reply = edit(machine, edits, budget);
        CHECK(reply.diff_truncated);
        CHECK(whole.starts_with(reply.diff));
        CHECK((reply.diff.size() <= budget || reply.diff.size() < 100));
    }
    machine.put("f", numbered(1, 99));
    CHECK_FALSE(edit(machine, edits, whole.size()).diff_truncated);
}

TEST_CASE("bytes that are no text are not put into a diff")
{
    const Machine machine;
    machine.put("f", std::string("a\0b\n", 4));
    CHECK(edit(machine, {{"a", "c"}}).diff.starts_with("Binary files "));
    machine.put("f", "abc\n");
    CHECK(edit(machine, {{"b", std::string(1, '\0')}}).diff.starts_with("Binary files "));
    machine.put("f", "gr\xfc\n");
    CHECK(edit(machine, {{"gr", "Gr"}}).diff.find("-gr\uFFFD\n+Gr\uFFFD\n") != std::string::npos);
    machine.put("f", std::string(1'000'000, 'x') + "needle" + std::string(1'000'000, 'x'));
    const auto reply = edit(machine, {{"needle", "pin"}}, 1000);
    CHECK(reply.diff_truncated);
    CHECK(reply.diff.size() < 200);
}

TEST_CASE("GNU patch makes of the old file the new one")
{
    if (!has_patch()) {
        MESSAGE("patch is not installed here");
        return;
    }
    const Machine machine;
    CHECK(patch_agrees(machine, numbered(1, 30), {{"line 7\n", ""}, {"line 8", "eight"}}));
    CHECK(patch_agrees(machine, "a\nb", {{"\nb", ""}}));
    CHECK(patch_agrees(machine, "a\nb", {{"b", "b\nc"}}));
    CHECK(patch_agrees(machine, "a\r\nb\r\n", {{"a\n", "x\ny\n"}}));
    CHECK(patch_agrees(machine, "a", {{"a", ""}}));
    std::mt19937 engine(42);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    const auto text = [&](unsigned length) {
        std::string result;
        for (unsigned i = 0; i < length; ++i) {
            result += "ab\n\n"[random() % 4];
        }
        return result;
    };
    int tried = 0;
    for (int round = 0; round < 3000 && tried < 150; ++round) {
        CAPTURE(round);
        const std::string before = text(random() % 120);
        std::vector<Edit> edits;
        for (unsigned i = 0; i <= random() % 3; ++i) {
            edits.push_back({text(1 + random() % 8), text(random() % 8), random() % 3 == 0});
        }
        try {
            machine.put("f", before);
            (void)edit(machine, edits);
            if (machine.get("f") == before) {
                continue; // edits that undo each other
            }
        } catch (const Error&) {
            continue;
        }
        ++tried;
        CHECK_MESSAGE(patch_agrees(machine, before, edits), machine.get("diff"));
    }
    CHECK(tried > 50);
}

TEST_CASE("the lines that differ, as few as there are")
{
    const auto changed = [](const std::string& a, const std::string& b) {
        std::size_t lines = 0;
        for (const auto& change : diff_lines(split_lines(a), split_lines(b))) {
            lines += change.removed + change.added;
        }
        return lines;
    };
    CHECK(changed("", "") == 0);
    CHECK(changed("a\n", "a\n") == 0);
    CHECK(changed("a\n", "a") == 2);
    CHECK(changed("", "a\nb\n") == 2);
    CHECK(changed("a\nb\nc\n", "a\nc\n") == 1);
    CHECK(changed("a\nb\nc\nd\n", "b\nc\nx\nd\ny\n") == 3);
    CHECK(changed("x\na\nx\nb\nx\n", "x\nb\nx\n") == 2);
}
