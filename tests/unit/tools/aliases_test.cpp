#include "tests/unit/tools/caught.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using berth::ErrorCode;
using nlohmann::json;

namespace {

json canonical(const char* tool, const json& arguments)
{
    return berth::tools::find_tool(tool)->canonical(arguments);
}

} // namespace

TEST_CASE("the spellings of Claude's built-in tools are understood")
{
    CHECK(canonical("bash_exec", {{"command", "ls"},
                                  {"description", "list"},
                                  {"run_in_background", true},
                                  {"dangerouslyDisableSandbox", true}}) ==
          json{{"command", "ls"}, {"description", "list"}, {"background", true}});
    CHECK(canonical("read_file", {{"file_path", "/a"}, {"offset", 1}, {"limit", 2}}) ==
          json{{"path", "/a"}, {"offset", 1}, {"limit", 2}});
    CHECK(canonical("edit_file", {{"file_path", "/a"}, {"old_string", "a"}, {"new_string", "b"}}) ==
          json{{"path", "/a"}, {"old_text", "a"}, {"new_text", "b"}});
    CHECK(canonical("grep_files", {{"pattern", "a"},
                                   {"glob", "*.c"},
                                   {"output_mode", "files_with_matches"},
                                   {"-A", 1},
                                   {"-B", 2},
                                   {"-C", 3},
                                   {"-n", true},
                                   {"-i", true},
                                   {"-o", false},
                                   {"head_limit", 0}}) == json{{"pattern", "a"},
                                                               {"include", "*.c"},
                                                               {"output_mode", "files"},
                                                               {"after", 1},
                                                               {"before", 2},
                                                               {"context", 3},
                                                               {"ignore_case", true},
                                                               {"only_matching", false},
                                                               {"limit", 0}});
}

TEST_CASE("the spellings of LangBot are understood")
{
    CHECK(canonical("bash_exec", {{"command", "ls"}, {"timeout_sec", 30}}) ==
          json{{"command", "ls"}, {"timeout", 30}});
    CHECK(canonical("read_file", {{"path", "a"}, {"encoding", "text"}}) ==
          json{{"path", "a"}, {"encoding", "utf-8"}});
    CHECK(canonical("write_file", {{"path", "a"}, {"content", ""}, {"encoding", "text"}}) ==
          json{{"path", "a"}, {"content", ""}, {"encoding", "utf-8"}});
}

TEST_CASE("the spellings of AutoGPT's workspace tools are understood")
{
    CHECK(canonical("save_to_workspace",
                    {{"filename", "a.txt"}, {"source_path", "b"}, {"overwrite", false}}) ==
          json{{"workspace_path", "a.txt"}, {"sandbox_path", "b"}, {"overwrite", false}});
    CHECK(canonical("load_from_workspace", {{"path", "a.txt"}, {"save_to_path", "b"}}) ==
          json{{"workspace_path", "a.txt"}, {"sandbox_path", "b"}});
}

TEST_CASE("an argument under two names must have one value")
{
    CHECK(canonical("read_file", {{"path", "a"}, {"file_path", "a"}}) == json{{"path", "a"}});
    const auto error = berth::tools::test::caught(
        [] { (void)canonical("read_file", {{"path", "a"}, {"file_path", "b"}}); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    const std::string message = error.what();
    CHECK(message.find("path and") != std::string::npos);
    CHECK(message.find("file_path") != std::string::npos);
    const auto two_aliases = berth::tools::test::caught(
        [] { (void)canonical("bash_exec", {{"command", "a"}, {"cmd", "b"}}); });
    CHECK(two_aliases.code() == ErrorCode::invalid_argument);
}

TEST_CASE("null is not given, also beside the canonical name")
{
    CHECK(canonical("bash_exec", {{"command", "ls"}, {"timeout", nullptr}, {"cmd", nullptr}}) ==
          json{{"command", "ls"}});
    CHECK(canonical("bash_exec", {{"command", nullptr}, {"cmd", "ls"}}) == json{{"command", "ls"}});
}

TEST_CASE("what Claude calls a shell or a task is a job")
{
    for (const auto* name : {"bash_id", "shell_id", "task_id"}) {
        CHECK(canonical("bash_output", {{name, "job-1"}}) == json{{"job_id", "job-1"}});
        CHECK(canonical("bash_kill", {{name, "job-1"}, {"signal", "SIGINT"}}) ==
              json{{"job_id", "job-1"}, {"signal", "INT"}});
    }
    CHECK(canonical("bash_output", {{"job_id", "job-1"}, {"cursor", "1-0"}}) ==
          json{{"job_id", "job-1"}, {"since", "1-0"}});
}

TEST_CASE("edits have aliases of their own")
{
    const json arguments = {{"path", "a"}, {"edits", {{{"old_string", "a"}, {"newText", "b"}}, 5}}};
    CHECK(canonical("edit_file", arguments) ==
          json{{"path", "a"}, {"edits", {{{"old_text", "a"}, {"new_text", "b"}}, 5}}});
}

TEST_CASE("what is no object passes untouched, for the decoder to refuse")
{
    CHECK(canonical("edit_file", json::array({1})) == json::array({1}));
}
