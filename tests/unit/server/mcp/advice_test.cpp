#include "server/mcp/advice.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

std::string hint(ErrorCode code, std::string_view tool)
{
    return hint_for(Error(code, "what"), tool, nullptr);
}

std::string instead(ErrorCode code, std::string_view tool, const tools::Dialect* dialect = nullptr)
{
    return stop_repeating(Error(code, "what"), tool, 3, dialect);
}

bool contains(const std::string& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("an error's own hint comes before any other")
{
    CHECK(hint_for(Error(ErrorCode::not_found, "what", "own"), "bash_output", nullptr) == "own");
}

TEST_CASE("what is missing is looked for where it would be")
{
    for (const char* tool : {"bash_output", "bash_input", "bash_kill"}) {
        CAPTURE(tool);
        for (const auto& text :
             {hint(ErrorCode::not_found, tool), instead(ErrorCode::not_found, tool)}) {
            CHECK(contains(text, "session_info"));
            CHECK_FALSE(contains(text, "glob_files"));
            CHECK_FALSE(contains(text, "ls in"));
        }
    }
    for (const char* tool :
         {"load_from_workspace", "list_workspace_files", "delete_workspace_file"}) {
        CAPTURE(tool);
        for (const auto& text :
             {hint(ErrorCode::not_found, tool), instead(ErrorCode::not_found, tool)}) {
            CHECK(contains(text, "list_workspace_files"));
            CHECK_FALSE(contains(text, "glob_files"));
        }
    }
    // What is saved is in the sandbox.
    for (const char* tool : {"save_to_workspace", "read_file", "bash_exec", ""}) {
        CAPTURE(tool);
        CHECK(contains(instead(ErrorCode::not_found, tool), "glob_files"));
    }
    CHECK_FALSE(contains(instead(ErrorCode::is_directory, "delete_workspace_file"), "List the"));
    CHECK(contains(instead(ErrorCode::conflict, "bash_input"), "bash_output"));
    CHECK(contains(instead(ErrorCode::conflict, "save_to_workspace"), "workspace_path"));
    CHECK(contains(instead(ErrorCode::conflict, "edit_file"), "Read again"));
    CHECK(contains(instead(ErrorCode::unsupported, "bash_input"), "stdin_open"));
}

TEST_CASE("what may pass is not forbidden, only to hurry")
{
    const auto busy = instead(ErrorCode::busy, "bash_exec");
    CHECK(contains(busy, "do not send it again right away. Wait longer"));
    CHECK_FALSE(contains(busy, "as it is"));
    CHECK(contains(instead(ErrorCode::text_not_found, "edit_file"),
                   "do not send it again as it is. Read"));
}

TEST_CASE("what to do instead names the tools of the dialect")
{
    const auto* claude = tools::find_dialect("claude");
    CHECK(contains(instead(ErrorCode::not_found, "bash_kill", claude), "again with Bash;"));
    CHECK(contains(instead(ErrorCode::not_found, "read_file", claude), "Look with Glob"));
}
