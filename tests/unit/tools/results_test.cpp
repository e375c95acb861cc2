#include "sandbox/base/error.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/bash_exec.hpp"
#include "tools/edit_file.hpp"
#include "tools/edit_report.hpp"
#include "tools/glob_files.hpp"
#include "tools/grep_files.hpp"
#include "tools/read_file.hpp"
#include "tools/session_info.hpp"
#include "tools/tool.hpp"
#include "tools/write_file.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace protocol = berth::protocol;
using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

/// What run_tool() adds to every result.
void check_result(const char* tool, const Result& result)
{
    REQUIRE(result.data != nullptr);
    json data = *result.data;
    data["session"] = "s";
    data["backend"] = "local";
    data["ok"] = true;
    INFO(tool, " ", data.dump());
    CHECK(test::schema_complaint(find_tool(tool)->output_schema, data) == "");
    CHECK_NOTHROW((void)json(result.text).dump()); // throws for what is not UTF-8
    data.erase("message");
    CHECK(test::schema_complaint(find_tool(tool)->output_schema, data) != "");
}

const std::string hostile = "a\xff\n\x1b[31m\u202e";

} // namespace

TEST_CASE("every result of bash_exec fits its schema")
{
    for (const auto fate :
         {protocol::Fate::exited, protocol::Fate::signaled, protocol::Fate::timed_out,
          protocol::Fate::cancelled, protocol::Fate::oom_killed, protocol::Fate::lost}) {
        protocol::ExecuteReply reply;
        reply.fate = fate;
        reply.exit_code = -1;
        reply.cwd = hostile;
        reply.out.head = hostile;
        reply.out.spill_path = hostile;
        reply.left_running = {{-1, hostile}};
        check_result("bash_exec", BashExec::render(reply, std::chrono::seconds(1), Settings{}));
    }
}

TEST_CASE("every result of the file tools fits its schema")
{
    using protocol::FileKind;
    for (const auto kind :
         {FileKind::text, FileKind::image, FileKind::binary, FileKind::directory}) {
        for (const bool base64 : {false, true}) {
            protocol::ReadFileReply reply;
            reply.kind = kind;
            reply.path = hostile;
            reply.content = hostile;
            reply.entries = {{hostile, "symlink", 1, hostile}};
            reply.first_line = 1;
            reply.line_count = reply.total_lines = 2;
            check_result("read_file", ReadFile::render({.base64 = base64}, reply, Settings{}));
        }
    }
    check_result("write_file", WriteFile::render({}, {hostile, 1, 2, "ab", true}));
    check_result(
        "edit_file",
        edit_report({hostile, 1, 2, "ab", hostile, true, false, true, {"tabs"}}, Settings{}));
    using protocol::PatchAction;
    check_result(
        "edit_file",
        patch_report({{{hostile, PatchAction::add, "", 0, 1, "ab", {}},
                       {hostile, PatchAction::update, "", 2, 1, "ab", {"line ends", "quotes"}},
                       {hostile, PatchAction::remove, "", 0, 0, "", {}},
                       {hostile, PatchAction::move, hostile, 1, 1, "ab", {"trailing blanks"}}},
                      hostile,
                      true,
                      true},
                     Settings{}));
}

TEST_CASE("a sandbox that does not say what it has patched is not believed")
{
    CHECK(test::caught([] { (void)patch_report({}, Settings{}); }).code() ==
          berth::ErrorCode::backend_error);
}

TEST_CASE("every result of the search tools fits its schema")
{
    protocol::GlobReply glob;
    glob.root = hostile;
    glob.paths = {hostile};
    glob.total = 2;
    glob.unreadable_paths = {hostile};
    check_result("glob_files", GlobFiles::render({.pattern = hostile}, glob, Settings{}));
    protocol::GrepReply grep;
    grep.root = hostile;
    grep.unreadable_paths = {hostile};
    grep.files = {{hostile, 1, {{1, hostile, true, true, true}}}};
    check_result("grep_files", GrepFiles::render({.pattern = hostile}, grep, Settings{}));
    grep.total_files = 1;
    check_result("grep_files", GrepFiles::render({.pattern = hostile}, grep, Settings{}));
}

TEST_CASE("session_info fits its schema, with and without a machine")
{
    berth::session::SessionFacts facts;
    facts.session = "s";
    facts.state = "absent";
    facts.mounts = {{"/host", "/work", true}};
    SessionInfo::Machine machine;
    machine.layers = {{"cgroup-memory", false, "why not"}, {"cgroup-cpu", true, ""}};
    const auto absent = SessionInfo::render(facts, machine, Settings{});
    check_result("session_info", absent);
    CHECK(absent.text.find("no sandbox yet") != std::string::npos);
    CHECK(absent.text.find("/host") == std::string::npos); // the host's paths are not the agent's

    CHECK(absent.text.find("memory 2 GiB (not enforced here), 512 processes, 2 CPUs, 4") !=
          std::string::npos);
    CHECK(absent.data->at("limits").at("not_enforced") == json::parse(R"(["memory_bytes"])"));

    machine.info.jobs = {{"ab", hostile, "running", 2, 5000}};
    machine.layers = {{"seccomp", false, hostile}};
    facts.state = "running";
    const auto running = SessionInfo::render(facts, machine, Settings{});
    check_result("session_info", running);
    CHECK(running.text.find("NO   seccomp") != std::string::npos);
    CHECK(running.text.find("not enforced") == std::string::npos);
    CHECK(running.data->at("limits").at("not_enforced").empty());

    auto& pause = machine.info.pause.emplace();
    pause.calls = {hostile};
    check_result("session_info", SessionInfo::render(facts, machine, Settings{}));
    pause = {.pauses_in = 90'000};
    machine.info.jobs.clear();
    const auto awake = SessionInfo::render(facts, machine, Settings{});
    check_result("session_info", awake);
    CHECK(awake.text.find("pause: in 90 s if no call and no job comes\n") != std::string::npos);
    machine.info.jobs = {{"ab", "sleep", "running", 2, 5000}};
    const auto leaving = SessionInfo::render(facts, machine, Settings{});
    CHECK(leaving.text.find("pause: in 90 s if no call comes, and 1 job with it\n") !=
          std::string::npos);
    CHECK(leaving.data->at("pause").at("awake_by").empty());
    machine.info.jobs.clear();
    pause = {.paused = true, .why = "left", .since = 60'000, .ends_in = 7'200'000};
    facts.state = "paused";
    const auto paused = SessionInfo::render(facts, machine, Settings{});
    check_result("session_info", paused);
    CHECK(
        paused.text.find("pause: paused for 60 s (its last client had left), nothing is lost; the "
                         "next call wakes it; without one it ends in 2 h\n") != std::string::npos);
    CHECK(paused.data->at("pause").at("why") == "left");
}

TEST_CASE("an edit shows its diff, within the budget")
{
    Settings settings;
    settings.output_budget = 10;
    const auto result =
        edit_report({"/a", 2, 9, "ab", "@@ -1 +1 @@\n-a\n+b\n", false, false, false, {}}, settings);
    CHECK(result.text.starts_with("Edited /a: 2 replacements · sha256 ab\n@@ -1 +1 @"));
    CHECK(result.data->at("diff_truncated") == true);
    CHECK(result.text.ends_with("read_file shows the file]"));
}

TEST_CASE("what an edit or a write did is said as it is, with the beginning of the hash")
{
    CHECK(edit_report({"/a", 1, 9, "0123456789abcdef", "", false, false, false, {}}, {}).text ==
          "Edited /a: 1 replacement · sha256 0123456789ab");
    CHECK(edit_report({"/a", 1, 9, "0123456789abcdef", "", false, true, true, {}}, {}).text ==
          "Would create /a: 9 bytes (dry run: nothing was changed)");
    CHECK(edit_report({"/a", 1, 9, "0123456789abcdef", "", false, false, false, {"tabs", "quotes"}},
                      {})
              .text ==
          "Edited /a: 1 replacement, old_text differing in tabs and quotes · sha256 0123456789ab");
    CHECK(patch_report(
              {{{"/a", protocol::PatchAction::move, "/b", 1, 9, "0123456789abcdef", {"tabs"}},
                {"/c", protocol::PatchAction::remove, "", 0, 0, "", {}}},
               "--- /a\n",
               false,
               false},
              {})
              .text == "Patched 2 files\nmoved /a to /b: 1 hunk, differing in tabs · sha256 "
                       "0123456789ab\ndeleted /c\n--- /a\n");
    CHECK(WriteFile::render({}, {"/a", 1, 1, "0123456789abcdef", true}).text ==
          "Created /a: 1 byte · sha256 0123456789ab");
}

TEST_CASE("arguments of an edit that contradict each other are told apart")
{
    const auto message = [](const json& arguments) {
        try {
            (void)EditFile::request(EditFile::decode(arguments), Settings{});
        } catch (const berth::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message({{"path", "f"}, {"old_text", "a"}, {"new_text", "a"}}) ==
          "old_text and new_text are the same, there is nothing to change");
    const json edits = json::array({{{"old_text", "a"}, {"new_text", "b"}}});
    CHECK(message({{"path", "f"}, {"replace_all", true}, {"edits", edits}}) ==
          "replace_all does not apply to edits");
    CHECK(message({{"path", "f"}, {"old_text", "a"}, {"edits", edits}}) ==
          "both old_text/new_text and edits were given");
    CHECK(message({{"path", "f"}, {"replace_all", true}}) ==
          "neither old_text and new_text nor edits were given");
}
