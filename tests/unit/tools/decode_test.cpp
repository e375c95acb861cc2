#include "tests/unit/tools/caught.hpp"
#include "tools/bash_exec.hpp"
#include "tools/decode.hpp"
#include "tools/edit_file.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using berth::Error;
using berth::ErrorCode;
using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

Error refusal(const char* tool, const json& arguments)
{
    return berth::tools::test::caught(
        [&] { find_tool(tool)->check(find_tool(tool)->canonical(arguments)); });
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("what came is told with what nobody sees written, and never as long as it may be")
{
    CHECK(contains(refusal("bash_exec", {{"command", "a"}, {"timeout", "5\u202e"}}).what(),
                   "got the string \"5\\u202e\""));
    const std::string longest(100'000, 'x');
    for (const json& env : {json{{longest + ' ', "1"}}, json{{longest, std::string(1, '\0')}}}) {
        const auto error = refusal("bash_exec", {{"command", "a"}, {"env", env}});
        CHECK(std::string_view(error.what()).size() < 200);
    }
    const json turned{{"command", "a"}, {"env", {{"A\u202e ", "1"}}}};
    CHECK(contains(refusal("bash_exec", turned).what(), "env: \"A\\u202e \" is no name"));
}

TEST_CASE("a wrong type is named with its place, what came and what is expected")
{
    const std::string message = refusal("bash_exec", {{"command", "a"}, {"timeout", "5"}}).what();
    CHECK(message == "timeout: expected a whole number, got the string \"5\"");
    CHECK(contains(refusal("bash_exec", {{"command", 7}}).what(),
                   "command: expected a string, got 7"));
    CHECK(contains(refusal("bash_exec", {{"command", "a"}, {"timeout", 0.5}}).what(), "got 0.5"));
    CHECK(contains(refusal("bash_exec", {{"command", "a"}, {"env", {{"A/B", 1}}}}).what(),
                   "env.A/B: expected a string, got 1"));
    CHECK(contains(
        refusal("edit_file", {{"path", "a"}, {"edits", {{{"old_text", 1}, {"new_text", ""}}}}})
            .what(),
        "edits[0].old_text: expected a string"));
    CHECK(contains(refusal("grep_files", {{"pattern", "a"}, {"include", {"a", 1}}}).what(),
                   "include[1]: expected a string"));
    CHECK(contains(refusal("grep_files", {{"pattern", "a"}, {"output_mode", "lines"}}).what(),
                   "one of content, files, count"));
    CHECK(contains(refusal("bash_exec", json::array()).what(), "expected an object"));
}

TEST_CASE("a long value does not make a long message, nor a cut character")
{
    std::string text;
    for (int i = 0; i < 10'000; ++i) {
        text += "é";
    }
    const std::string message = refusal("bash_exec", {{"command", "a"}, {"timeout", text}}).what();
    CHECK(message.size() < 200);
    CHECK(contains(message, "é…\""));
    const auto error = refusal("bash_exec", {{"command", "a"}, {text, 1}});
    CHECK(std::string(error.what()).size() < 300);
}

TEST_CASE("what is allowed is told beside what is wrong")
{
    const auto told = [](const char* tool, const json& arguments) {
        const auto error = refusal(tool, arguments);
        CHECK_FALSE(std::string(error.what()).starts_with('/')); // it would read like a file
        return std::string(error.what()) + "; " + error.hint();
    };
    CHECK(told("bash_exec", {{"command", "a"}, {"timeout", 0}}) ==
          "timeout: 0 is below the minimum of 1; Allowed: 1 to 7200.");
    CHECK(contains(told("read_file", {{"path", "a"}, {"limit", -1}}), " or more."));
    CHECK(contains(told("read_file", {{"path", "a"}, {"limit", 1e16}}),
                   "above the maximum of 1000000000000000; Allowed: 1 to 1000000000000000."));
    CHECK(told("read_file", {{"path", ""}}) ==
          "path: may not be empty; Allowed: a text of at least one character; leave it "
          "out where it is optional.");
    CHECK(contains(told("bash_exec", {{"command", json::array()}}), "Send command as a string."));
    CHECK(contains(told("write_file", {{"path", "a"}, {"content", ""}, {"mode", "x"}}),
                   "Send mode as one of overwrite, create, append."));
    CHECK(contains(told("edit_file", {{"path", "a"}, {"edits", json::array()}}),
                   "Put at least one into the list"));
    for (const char* tool : {"read_file", "load_from_workspace", "bash_exec"}) {
        const auto nothing = told(tool, json::object());
        CHECK(contains(nothing, "Send the call again with "));
        CHECK_FALSE(contains(nothing, "write_file"));
    }
}

TEST_CASE("milliseconds are recognised and their seconds proposed")
{
    const auto error = refusal("bash_exec", {{"command", "a"}, {"timeout", 120'000}});
    CHECK(contains(error.hint(), "did you mean 120 s?"));
    for (const json& value : {json(0), json(-1), json(1e30), json(7201)}) {
        CHECK(refusal("bash_exec", {{"command", "a"}, {"timeout", value}}).code() ==
              ErrorCode::invalid_argument);
    }
}

TEST_CASE("to a call that starts a job the hint does not say that background starts one")
{
    const auto error =
        refusal("bash_exec", {{"command", "a"}, {"background", true}, {"timeout", 99'999}});
    CHECK(error.hint() ==
          "timeout is in seconds, and a job lives at most 7200 s (job.max_timeout).");
    Settings settings;
    settings.job_max_timeout = std::chrono::seconds(60);
    BashExec::Args args;
    args.command = "true";
    args.background = true;
    args.timeout = 61;
    const auto lower = berth::tools::test::caught([&] { (void)BashExec::request(args, settings); });
    CHECK(lower.hint() == "timeout is in seconds, and a job lives at most 60 s (job.max_timeout).");
}

TEST_CASE("a profile's maximum cuts what is asked for")
{
    Settings settings;
    settings.exec_max_timeout = std::chrono::seconds(60);
    settings.job_max_timeout = std::chrono::seconds(90);
    BashExec::Args args;
    args.command = "true";
    args.timeout = 600;
    settings.cuts_exec_timeout = true;
    CHECK(BashExec::request(args, settings).timeout == 60'000);
    args.background = true; // whose maximum is another's word
    CHECK_THROWS_AS((void)BashExec::request(args, settings), Error);
    settings.cuts_job_timeout = true;
    CHECK(BashExec::request(args, settings).timeout == 90'000);
    args.timeout = 30;
    CHECK(BashExec::request(args, settings).timeout == 30'000);
}

TEST_CASE("an operator's lower maximum is told the same way")
{
    Settings settings;
    settings.exec_max_timeout = std::chrono::seconds(60);
    BashExec::Args args;
    args.command = "true";
    CHECK(BashExec::request(args, settings).timeout == 60'000);
    args.timeout = 600;
    const auto error = berth::tools::test::caught([&] { (void)BashExec::request(args, settings); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(contains(error.what(), "60 s"));
}

TEST_CASE("seconds are proposed only where milliseconds are likely")
{
    const auto hint = [](std::int64_t timeout) {
        return std::string(refusal("bash_exec", {{"command", "a"}, {"timeout", timeout}}).hint());
    };
    for (const std::int64_t either : {8000, 60'000}) {
        CAPTURE(either);
        CHECK_FALSE(contains(hint(either), "did you mean"));
        CHECK(contains(hint(either), "at most 7200 (if milliseconds are meant: " +
                                         std::to_string(either / 1000) + "). What takes longer"));
    }
    CHECK(contains(hint(123'456), "did you mean 123 s?"));
    for (const std::int64_t odd : {7201, 9999, 8'000'000, 1'000'000'000}) {
        CAPTURE(odd);
        CHECK_FALSE(contains(hint(odd), "did you mean"));
        CHECK(contains(hint(odd), "at most 7200"));
        CHECK(contains(hint(odd), "as a job"));
    }
}

TEST_CASE("a NUL in the environment is told with the variable")
{
    BashExec::Args args;
    args.command = "true";
    args.env = {{"GOOD", "1"}, {"TOKEN", std::string("a\0b", 3)}};
    const auto error =
        berth::tools::test::caught([&] { (void)BashExec::request(args, Settings()); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(contains(error.what(), "the value of TOKEN contains a NUL byte"));
}

TEST_CASE("an unknown name is told with the nearest known one")
{
    const auto error = refusal("read_file", {{"path", "a"}, {"ofset", 1}});
    CHECK(contains(error.what(), "ofset"));
    CHECK(contains(error.what(), "did you mean offset?"));
    CHECK(contains(refusal("session_info", {{"x", 1}}).hint(), "no arguments"));
}

TEST_CASE("an unknown name explains a missing one, so it is told first")
{
    CHECK(contains(refusal("read_file", {{"pth", "a"}}).what(), "did you mean path?"));
}

TEST_CASE("a word that is none of the choices is told which was probably meant")
{
    const auto contents = refusal("grep_files", {{"pattern", "a"}, {"output_mode", "contents"}});
    CHECK(contains(contents.what(), "output_mode: expected one of content, files, count, got the "
                                    "string \"contents\""));
    CHECK(contents.hint() == "Did you mean content?");
    CHECK(refusal("bash_kill", {{"job_id", "job-1"}, {"signal", "term"}}).hint() ==
          "Did you mean TERM?");
    // Nearest to another spelling of a choice, which is told by its own.
    for (const char* slip : {"SIGTREM", "sigterm", "SIGTER", "TREM"}) {
        CAPTURE(slip);
        CHECK(refusal("bash_kill", {{"job_id", "job-1"}, {"signal", slip}}).hint() ==
              "Did you mean TERM?");
    }
    CHECK(refusal("bash_kill", {{"job_id", "job-1"}, {"signal", "sigkil"}}).hint() ==
          "Did you mean KILL?");
    CHECK(refusal("bash_kill", {{"job_id", "job-1"}, {"signal", "kill"}}).hint() ==
          "Did you mean KILL?");
    CHECK(refusal("grep_files", {{"pattern", "a"}, {"output_mode", "files_with_match"}}).hint() ==
          "Did you mean files?");
    CHECK(refusal("read_file", {{"path", "a"}, {"encoding", "UTF8"}}).hint() ==
          "Did you mean utf-8?");
    CHECK(refusal("write_file", {{"path", "a"}, {"content", ""}, {"mode", "Append"}}).hint() ==
          "Did you mean append?");
    CHECK(contains(refusal("write_file", {{"path", "a"}, {"content", ""}, {"mode", "xyz"}}).hint(),
                   "Send mode as one of"));
    CHECK(contains(refusal("write_file", {{"path", "a"}, {"content", ""}, {"mode", 7}}).hint(),
                   "Send mode as one of"));
}

TEST_CASE("a call that was cut off is told what arrived and what to do")
{
    const auto nothing = refusal("write_file", json::object());
    CHECK(contains(nothing.what(), "path, content"));
    CHECK(contains(nothing.hint(), "pieces"));
    const auto part = refusal("write_file", {{"path", "a"}, {"mode", "append"}});
    CHECK(contains(part.what(), "missing: content"));
    CHECK(contains(part.what(), "arrived: mode, path"));
}

TEST_CASE("blank commands and impossible environments do not reach the sandbox")
{
    const auto code = [](const BashExec::Args& args) {
        return berth::tools::test::caught([&] { (void)BashExec::request(args, Settings{}); })
            .code();
    };
    CHECK(code({.command = ""}) == ErrorCode::empty_command);
    CHECK(code({.command = " \n\t"}) == ErrorCode::empty_command);
    CHECK(code({.command = std::string("a\0b", 3)}) == ErrorCode::invalid_argument);
    CHECK(code({.command = "a", .env = {{"", "1"}}}) == ErrorCode::invalid_argument);
    CHECK(code({.command = "a", .env = {{"A=B", "1"}}}) == ErrorCode::invalid_argument);
    CHECK(code({.command = "a", .env = {{"A B", "1"}}}) == ErrorCode::invalid_argument);
    CHECK(code({.command = "a", .env = {{"A\n", "1"}}}) == ErrorCode::invalid_argument);
    CHECK_NOTHROW((void)BashExec::request({.command = "a", .env = {{"C.D", "1"}}}, Settings{}));
    CHECK(code({.command = "a", .env = {{"A", std::string("\0", 1)}}}) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("every command has a name of its own")
{
    const BashExec::Args args{.command = "true"};
    const auto first = BashExec::request(args, Settings{}).id;
    CHECK(first.size() == 32);
    CHECK(first != BashExec::request(args, Settings{}).id);
}

TEST_CASE("an edit is one replacement or a list of them")
{
    const auto code = [](const EditFile::Args& args) {
        return berth::tools::test::caught([&] { (void)EditFile::request(args, Settings{}); })
            .code();
    };
    CHECK(code({.path = "a"}) == ErrorCode::invalid_argument);
    CHECK(code({.path = "a", .old_text = "a"}) == ErrorCode::invalid_argument);
    CHECK(code({.path = "a", .new_text = "a"}) == ErrorCode::invalid_argument);
    CHECK(code({.path = "a", .old_text = "a", .new_text = "a"}) == ErrorCode::invalid_argument);
    CHECK(code({.path = "a", .edits = {{"a", "a", false}}}) == ErrorCode::invalid_argument);
    CHECK(code({.path = "a", .old_text = "a", .new_text = "b", .edits = {{"a", "b", false}}}) ==
          ErrorCode::invalid_argument);
    const auto request = EditFile::request({.path = "a", .old_text = "", .new_text = "b"}, {});
    REQUIRE(request.edits.size() == 1);
    CHECK(request.edits[0].new_text == "b");
}

TEST_CASE("a hash is accepted in either case and compared in one")
{
    const auto args = EditFile::decode({{"path", "a"}, {"if_sha256", std::string(64, 'A')}});
    CHECK(args.if_sha256 == std::string(64, 'a'));
    CHECK(EditFile::decode({{"path", "a"}, {"if_sha256", "0123456789AB"}}).if_sha256 ==
          "0123456789ab");
    CHECK_THROWS((void)EditFile::decode({{"path", "a"}, {"if_sha256", "0123456789a"}}));
}
