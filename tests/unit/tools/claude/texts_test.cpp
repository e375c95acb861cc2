#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/text_reply.hpp"
#include "tools/bash_exec.hpp"
#include "tools/bash_kill.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/edit_report.hpp"
#include "tools/read_file.hpp"
#include "tools/write_file.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <string>

// What a model reads for a reply of the guest: of commands and files. The texts that are recorded
// of Claude's own tools are in tests/parity/cases/dialect.py too.

namespace berth::tools {
namespace {

using nlohmann::json;
using protocol::Fate;

protocol::ExecuteReply ended(const std::string& out, const std::string& err = "", int code = 0)
{
    protocol::ExecuteReply reply;
    reply.out.head = out;
    reply.out.total_bytes = out.size();
    reply.err.head = err;
    reply.err.total_bytes = err.size();
    reply.exit_code = code;
    reply.duration = 20'000; // told by bash_exec, not here
    reply.cwd = "/home/user/src";
    reply.cwd_changed = true;
    return reply;
}

Result stopped(const protocol::JobKillReply& reply)
{
    auto result = BashKill::render({.job_id = "job-1", .signal = SIGTERM}, reply);
    claude::TaskStop::phrase({{"task_id", "job-1"}}, Settings{}, result);
    return result;
}

Result bash(const protocol::ExecuteReply& reply, const json& arguments = {{"command", "x"}},
            const Settings& settings = {})
{
    auto result = BashExec::render(reply, std::chrono::seconds(2), settings);
    claude::Bash::phrase(arguments, settings, result);
    return result;
}

protocol::ReadFileReply file(const std::string& content, std::uint64_t first = 1,
                             std::uint64_t total = 0)
{
    auto reply = test::text_reply(content, first, total);
    reply.sha256 = "1a2b3c4d5e6f7890";
    return reply;
}

Result read(const protocol::ReadFileReply& reply, json arguments = json::object(),
            const Settings& settings = {})
{
    arguments["file_path"] = "a.txt";
    const auto args = ReadFile::decode(claude::Read::canonical(arguments, settings));
    auto result = ReadFile::render(args, reply, settings);
    claude::Read::phrase(arguments, settings, result);
    return result;
}

std::string read_text(const protocol::ReadFileReply& reply, const json& arguments = json::object())
{
    return read(reply, arguments).text;
}

} // namespace

TEST_CASE("Bash: standard output, then standard error, without marks")
{
    CHECK(bash(ended("out\n")).text == "out");
    CHECK(bash(ended("out\n", "err\n")).text == "out\nerr");
    CHECK(bash(ended("", "err\n")).text == "err");
    CHECK(bash(ended("")).text == "(Bash completed with no output)");
    CHECK(bash(ended("out", "err")).text == "out\nerr");
    CHECK(bash(ended("\n \n  a  \n\n")).text == "  a");
    CHECK(bash(ended("a\n\nb\n\n", "err\n")).text == "a\n\nb\n\nerr");
    CHECK(bash(ended("\n\n")).text == "(Bash completed with no output)");
    CHECK(bash(ended("\n \n", "err\n", 2)).text == "Exit code 2\n\n \nerr");
    CHECK_FALSE(bash(ended("out\n")).failed);
}

TEST_CASE("Bash: an exit code other than 0 is a failure that begins with it")
{
    const auto result = bash(ended("out\n", "err\n", 3));
    CHECK(result.failed);
    CHECK(result.text == "Exit code 3\nout\nerr");
    CHECK(result.data->at("exit_code") == 3);
    CHECK(bash(ended("", "", 1)).text == "Exit code 1");
    auto killed = ended("out", "", 139);
    killed.fate = Fate::signaled;
    killed.signal = SIGSEGV;
    CHECK(bash(killed).text == "Exit code 139\nout\n[killed by SIGSEGV]");
    killed.fate = Fate::oom_killed;
    killed.exit_code = 137;
    CHECK(bash(killed).text == "Exit code 137\nout\n[killed: out of memory]");
}

TEST_CASE("Bash: a command that was stopped says why, and what could not be stopped")
{
    auto stopped = ended("out\n", "", -1);
    stopped.fate = Fate::timed_out;
    CHECK(bash(stopped).text ==
          "out\nCommand did not complete within its 120s timeout and was stopped.");
    CHECK(bash(stopped, {{"command", "x"}, {"timeout", 1500}, {"run_in_background", false}})
              .text.find("within its 2s timeout") != std::string::npos);
    Settings settings;
    settings.exec_timeout = std::chrono::seconds(30);
    stopped.survivors = 2;
    const auto result = bash(stopped, {{"command", "x"}, {"timeout", nullptr}}, settings);
    CHECK(result.text.starts_with("out\nCommand did not complete within its 30s timeout"));
    CHECK(result.text.ends_with("\n[2 processes could not be stopped]"));
    CHECK(result.failed);
    stopped.fate = Fate::lost;
    CHECK(bash(stopped).text.starts_with("out\nThe outcome of the command was lost."));
    stopped.fate = Fate::cancelled;
    CHECK(bash(stopped).failed);
}

TEST_CASE("Bash: nothing is left out without a word")
{
    Settings settings;
    settings.output_budget = 1000;
    auto reply = ended(std::string(5000, 'x'));
    reply.out.spill_path = "/var/tmp/berth/1.stdout";
    reply.out.spill_bytes = 5000;
    const json arguments = {{"command", "x"}};
    auto text = bash(reply, arguments, settings).text;
    CHECK(text.find("left out") < text.find("[stdout has "));
    CHECK(text.ends_with("[stdout has 5.0 KB, the middle is left out; all of it is in "
                         "/var/tmp/berth/1.stdout, which Read pages]"));
    reply.out.spill_bytes = 2000;
    reply.out.spill_error = "no space";
    text = bash(reply, arguments, settings).text;
    CHECK(text.ends_with("the first 2.0 KB are in /var/tmp/berth/1.stdout, which Read pages: no "
                         "space]"));
    reply.out.spill_path = "";
    CHECK(bash(reply, arguments, settings).text.ends_with("it is not kept: no space]"));
}

TEST_CASE("Bash: what was folded and what was stripped is counted")
{
    auto reply = ended("\x1b[32m100%\x1b[0m\n");
    reply.out.total_bytes = 5000;
    reply.out.folded_bytes = 4986;
    reply.out.folded_updates = 1;
    reply.out.spill_path = "/var/tmp/berth/1.stdout";
    reply.out.spill_bytes = 5000;
    CHECK(bash(reply, {{"command", "x"}}, Settings{}).text ==
          "100%\n[stdout has 5.0 KB, 1 update by \\r folded; all of it is in "
          "/var/tmp/berth/1.stdout, which Read pages]\n[2 escape sequences left out; cat -v shows "
          "them]");
}

TEST_CASE("Bash: what runs on is named")
{
    auto reply = ended("");
    reply.job_id = "3";
    reply.left_running = {{7, "sleep 9"}, {8, ""}};
    reply.out.held_open = true;
    reply.out.spill_path = "/var/tmp/berth/2.stdout";
    CHECK(bash(reply).text ==
          "(Bash completed with no output)\n[left running as job 3: pid 7 (sleep 9), pid 8; its "
          "output goes on in /var/tmp/berth/2.stdout]");
    CHECK_FALSE(bash(reply).failed);
    reply.err.held_open = true;
    reply.err.spill_path = "/var/tmp/berth/3.stderr";
    CHECK(bash(reply).text.ends_with(
        "goes on in /var/tmp/berth/2.stdout and /var/tmp/berth/3.stderr]"));
}

TEST_CASE("Read: numbered lines, a final newline begins one more")
{
    CHECK(read_text(file("one\ntwo\n")) == "1\tone\n2\ttwo\n3\t");
    CHECK(read_text(file("one\ntwo")) == "1\tone\n2\ttwo");
    CHECK(read_text(file("\n")) == "1\t\n2\t");
    CHECK(read_text(file("[x]\n")) == "1\t[x]\n2\t");
    CHECK(read_text(file("one\n"), {{"limit", 1}}) == "1\tone");
    CHECK(read_text(file("one\n"), {{"limit", 2}}) == "1\tone\n2\t");
}

TEST_CASE("Read: a part is what was asked for, and says so only when it is less")
{
    auto part = file("l3\nl4\n", 3, 9);
    part.truncated_by = "limit";
    CHECK(read_text(part, {{"offset", 3}, {"limit", 2}}) == "3\tl3\n4\tl4");
    CHECK(read_text(part, {{"offset", 3}}) ==
          "3\tl3\n4\tl4\n\n[lines 3–4 of 10 are shown; next: offset 5]");
    part.truncated_by = "budget";
    CHECK(read_text(part, {{"offset", 3}, {"limit", 7}})
              .ends_with("\n[lines 3–4 of 10 are shown; next: offset 5]"));
    CHECK(read_text(file("l9\n", 9, 9), {{"offset", 9}}) == "9\tl9\n10\t");
}

TEST_CASE("Read: an empty file and an offset behind the end are warnings")
{
    CHECK(read_text(file("")) == "<system-reminder>Warning: the file exists but the contents are "
                                 "empty.</system-reminder>");
    auto past = file("");
    past.size = 20;
    past.total_lines = 3;
    past.final_newline = true;
    CHECK(read_text(past, {{"offset", 100}}) ==
          "<system-reminder>Warning: the file exists but is shorter than the provided offset "
          "(100). The file has 4 lines.</system-reminder>");
    CHECK(read_text(past, {{"offset", 4}}) == "4\t");
    past.final_newline = false;
    CHECK(read_text(past, {{"offset", 4}}).find("(4). The file has 3 lines.") != std::string::npos);
}

TEST_CASE("Read: what is unusual about a file is told below it")
{
    auto odd = file("a\xff\n");
    odd.encoding = "invalid-utf-8";
    CHECK(read_text(odd).find("\n[not valid UTF-8: U+FFFD stands for each invalid byte; Edit keeps "
                              "them, its old_string cannot name them]") != std::string::npos);
    auto ends = file("a\r\nb\n");
    ends.line_ending = "mixed";
    CHECK(read_text(ends).ends_with("\n[mixed LF and CRLF line ends]"));
    ends.line_ending = "crlf";
    ends.content = "a\r\nb\r\n";
    CHECK(read_text(ends) == "1\ta\n2\tb\n3\t");
}

TEST_CASE("Read: of a line that is too long the beginning, and what shows the rest")
{
    Settings settings;
    settings.read_budget = 20;
    const auto text = read(file(std::string(100, 'x') + "\n"), json::object(), settings).text;
    CHECK(text.starts_with("1\txxxxxxxxxx"));
    CHECK(text.find("[line 1 is too long and is cut: cut -c in Bash shows the rest") !=
          std::string::npos);
}

TEST_CASE("Read: a directory and a binary file are errors")
{
    auto reply = file("");
    reply.kind = protocol::FileKind::directory;
    const auto directory = test::caught([&] { (void)read(reply); });
    CHECK(directory.code() == ErrorCode::is_directory);
    CHECK(std::string(directory.what()).starts_with("EISDIR: illegal operation on a directory"));
    reply.kind = protocol::FileKind::binary;
    reply.content = "\x7f"
                    "ELF";
    const auto binary = test::caught([&] { (void)read(reply); });
    CHECK(binary.code() == ErrorCode::unsupported);
    CHECK(std::string(binary.what()).starts_with("This tool cannot read binary files."));
    reply.mime_type = "image/png";
    const auto picture = test::caught([&] { (void)read(reply); });
    CHECK(std::string(picture.what()).find("a picture that is damaged or too large") !=
          std::string::npos);
}

TEST_CASE("Write and Edit: one line, whatever changed")
{
    const json path = {{"file_path", "a"}}; // shown as it was given
    protocol::WriteFileReply written;
    written.path = "/home/user/a";
    written.created = true;
    auto result = WriteFile::render({}, written);
    claude::Write::phrase(path, {}, result);
    CHECK(result.text == "File created successfully at: a (file state is current in "
                         "your context — no need to Read it back)");
    written.created = false;
    result = WriteFile::render({}, written);
    claude::Write::phrase(path, {}, result);
    CHECK(result.text.starts_with("The file a has been updated successfully. (file "));

    protocol::EditFileReply edited;
    edited.path = "/home/user/a";
    edited.replacements = 2;
    edited.diff = "@@\n-a\n+b\n";
    auto change = edit_report(edited, {});
    claude::Edit::phrase({{"file_path", "a"}, {"replace_all", true}}, {}, change);
    CHECK(change.text.starts_with("The file a has been updated. All occurrences were "
                                  "successfully replaced. (file state is current"));
    CHECK(change.data->at("diff") == edited.diff);
    change = edit_report(edited, {});
    claude::Edit::phrase({{"file_path", "a"}, {"replace_all", false}}, {}, change);
    CHECK(change.text.starts_with("The file a has been updated successfully. ("));
    edited.created = true;
    change = edit_report(edited, {});
    claude::Edit::phrase({{"file_path", "a"}, {"replace_all", nullptr}}, {}, change);
    CHECK(change.text.starts_with("The file a has been updated successfully. ("));
}

TEST_CASE("Edit: errors in the words of the dialect, lines of the file as they are")
{
    const json arguments = {{"file_path", "a"}, {"old_string", "zzz"}, {"new_string", "b"}};
    const Error absent =
        Error(ErrorCode::text_not_found, "old_text does not occur in /a",
              "line 3 is the same but for blanks: tolerant = true looks through that; "
              "nearest: line 3 (90 % alike), where line 3 differs in blanks at the "
              "end (1 in the file, 0 in old_text): `old_text = bash_exec()`")
            .with_detail("lines", "3");
    const auto told = claude::Edit::explain(arguments, absent);
    REQUIRE(told);
    CHECK(std::string(told->what()) == "String to replace not found in file.\nString: zzz");
    CHECK(told->hint().ends_with("0 in old_string): `old_text = bash_exec()`"));
    CHECK(told->hint().starts_with(
        "line 3 is the same but for blanks: copy it from there; nearest: line 3"));
    CHECK(told->details().at("lines") == "3");

    const Error several = Error(ErrorCode::ambiguous_match, "old_text occurs 4 times in /a", "x")
                              .with_detail("lines", "1, 2, 5, 9")
                              .with_detail("count", "4");
    const auto counted = claude::Edit::explain(arguments, several);
    REQUIRE(counted);
    CHECK(std::string(counted->what())
              .starts_with("Found 4 matches of the string to replace, but replace_all is false. To "
                           "replace all occurrences, set replace_all to true. To replace only one "
                           "occurrence, please provide more context"));
    CHECK(counted->hint().find("1, 2, 5, 9") != std::string::npos);

    const json same = {{"file_path", "a"}, {"old_string", "a"}, {"new_string", "a"}};
    const auto nothing = test::caught([&] { (void)claude::Edit::canonical(same, {}); });
    CHECK(std::string(nothing.what()) ==
          "No changes to make: old_string and new_string are exactly the same.");
    CHECK_FALSE(claude::Edit::explain(arguments, Error(ErrorCode::too_large, "x")));

    const json empty = {{"file_path", "a"}, {"old_string", ""}, {"new_string", "b"}};
    const Error filled(ErrorCode::invalid_argument, "old_text is empty, and /a is not");
    CHECK(std::string(claude::Edit::explain(empty, filled)->what()) ==
          "Cannot create new file - file already exists.");
    CHECK_FALSE(claude::Edit::explain(empty, Error(ErrorCode::invalid_argument, "path: x")));
}

TEST_CASE("what is not there is told with the working directory")
{
    const Error missing =
        Error(ErrorCode::not_found, "/home/user/b does not exist", "did you mean /home/user/a?")
            .with_detail("cwd", "/home/user");
    const json path = {{"path", "b"}};
    const std::string note = " Note: your current working directory is /home/user.";
    const std::pair<std::optional<Error>, std::string> table[] = {
        {claude::Read::explain({}, missing), "File does not exist."},
        {claude::Edit::explain({}, missing), "File does not exist."},
        {claude::Glob::explain(path, missing), "Directory does not exist: b."},
        {claude::Grep::explain(path, missing), "Path does not exist: b."}};
    for (const auto& [told, words] : table) {
        REQUIRE(told);
        CHECK(told->what() == words + note);
        CHECK(told->hint() == "/home/user/b does not exist; did you mean /home/user/a?");
    }
    CHECK_FALSE(claude::Read::explain({}, Error(ErrorCode::not_found, "no such job")));
    CHECK_FALSE(claude::Grep::explain({}, missing));
}

TEST_CASE("a background command that was stopped, that had ended, and that goes on")
{
    protocol::JobKillReply reply;
    reply.state.job_id = "job-1";
    reply.state.command = "make";
    reply.state.running = false;
    reply.state.shell_ended = true;
    reply.signalled = 2;
    CHECK(stopped(reply).text == "Successfully stopped task: job-1 (make)");
    CHECK_FALSE(stopped(reply).failed);
    reply.signalled = 0;
    CHECK(stopped(reply).text == "Task job-1 is not running (status: completed)");
    CHECK(stopped(reply).failed);
    reply.state.exit_code = 3;
    CHECK(stopped(reply).text == "Task job-1 is not running (status: failed)");
    reply.state.ended_by = "kill";
    CHECK(stopped(reply).text == "Task job-1 is not running (status: killed)");
    reply.state.running = true;
    reply.state.survivors = 1;
    CHECK(stopped(reply).text.find("could not be stopped") != std::string::npos);
    CHECK_FALSE(stopped(reply).failed);
}

TEST_CASE("an unknown background command is an unknown task, with those that there are")
{
    const Error none(ErrorCode::not_found, "there is no job job-9 in this session",
                     "The jobs are: job-1 (running).");
    const auto error = claude::TaskStop::explain({{"shell_id", "job-9"}}, none);
    REQUIRE(error);
    CHECK(std::string(error->what()) == "No task found with ID: job-9");
    CHECK(error->hint() == none.hint());
    CHECK_FALSE(claude::TaskStop::explain({{"task_id", "a"}}, Error(ErrorCode::busy, "b")));
}

TEST_CASE("how a command ended is told by its outcome, and not by how long it took")
{
    auto first = ended("out", "err", 3);
    auto second = first;
    second.duration = 99'000;
    second.cwd = "/tmp";
    CHECK_FALSE(bash(first).unsuccessful.empty());
    CHECK(bash(first).unsuccessful == bash(second).unsuccessful);
    CHECK(bash(ended("out", "err", 4)).unsuccessful != bash(first).unsuccessful);
    CHECK(bash(ended("oute", "rr", 3)).unsuccessful != bash(first).unsuccessful);
    CHECK(bash(ended("out", "err")).unsuccessful.empty());
    first.background = true;
    first.job_id = "job-1";
    CHECK(bash(first).unsuccessful.empty());
}

} // namespace berth::tools
