#include "tools/foreign_names.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

TEST_CASE("a tool is known by what other systems call it")
{
    CHECK(tool_for_foreign_name("KillShell") == "bash_kill");
    CHECK(tool_for_foreign_name("kill_shell") == "bash_kill");
    CHECK(tool_for_foreign_name("KillBash") == "bash_kill");
    CHECK(tool_for_foreign_name("Bash") == "bash_exec");
    CHECK(tool_for_foreign_name("exec_command") == "bash_exec");
    CHECK(tool_for_foreign_name("write_stdin") == "bash_input");
    CHECK(tool_for_foreign_name("str_replace_based_edit_tool") == "edit_file");
    CHECK(tool_for_foreign_name("apply_patch") == "edit_file");
    CHECK(tool_for_foreign_name("container.exec") == "bash_exec");
    CHECK(tool_for_foreign_name("run_terminal_cmd") == "bash_exec");
    CHECK(tool_for_foreign_name("LS") == "read_file");
    CHECK(tool_for_foreign_name("LS", find_dialect("claude")) == "bash_exec"); // Read refuses them
    CHECK(tool_for_foreign_name("KillShell", find_dialect("claude")) == "bash_kill");
    CHECK(tool_for_foreign_name("read_workspace_file") == "load_from_workspace"); // AutoGPT's
    CHECK(tool_for_foreign_name("write_workspace_file") == "save_to_workspace");
    CHECK(tool_for_foreign_name("").empty());
    CHECK(tool_for_foreign_name("TodoWrite").empty());
    CHECK(tool_for_foreign_name(std::string(1'000'000, 'a')).empty());
}

TEST_CASE("what a foreign name leads to is a tool")
{
    for (const auto* name : {"shell", "writestdin", "taskstop", "taskoutput", "edit", "glob",
                             "grep", "read", "write", "readworkspacefile", "writeworkspacefile"}) {
        CAPTURE(name);
        CHECK(find_tool(tool_for_foreign_name(name)) != nullptr);
    }
}
