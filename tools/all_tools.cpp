#include "tools/bash_exec.hpp"
#include "tools/bash_input.hpp"
#include "tools/bash_kill.hpp"
#include "tools/bash_output.hpp"
#include "tools/delete_workspace_file.hpp"
#include "tools/edit_file.hpp"
#include "tools/entry.hpp"
#include "tools/glob_files.hpp"
#include "tools/grep_files.hpp"
#include "tools/list_workspace_files.hpp"
#include "tools/load_from_workspace.hpp"
#include "tools/read_file.hpp"
#include "tools/save_to_workspace.hpp"
#include "tools/session_info.hpp"
#include "tools/write_file.hpp"

#include <algorithm>

#include "schemas/embedded.hpp"

namespace berth::tools {

const std::vector<Entry>& all_tools()
{
    namespace json = schemas;
    // clang-format off
    static const std::vector<Entry> table = {
        entry<BashExec>(json::bash_exec, json::bash_exec_output),
        entry<BashInput>(json::bash_input, json::bash_input_output),
        entry<BashKill>(json::bash_kill, json::bash_kill_output),
        entry<BashOutput>(json::bash_output, json::bash_output_output),
        entry<DeleteWorkspaceFile>(json::delete_workspace_file, json::delete_workspace_file_output),
        entry<EditFile>(json::edit_file, json::edit_file_output),
        entry<GlobFiles>(json::glob_files, json::glob_files_output),
        entry<GrepFiles>(json::grep_files, json::grep_files_output),
        entry<ListWorkspaceFiles>(json::list_workspace_files, json::list_workspace_files_output),
        entry<LoadFromWorkspace>(json::load_from_workspace, json::load_from_workspace_output),
        entry<ReadFile>(json::read_file, json::read_file_output),
        entry<SaveToWorkspace>(json::save_to_workspace, json::save_to_workspace_output),
        entry<SessionInfo>(json::session_info, json::session_info_output),
        entry<WriteFile>(json::write_file, json::write_file_output),
    };
    // clang-format on
    return table;
}

const Entry* find_tool(std::string_view name)
{
    const auto& table = all_tools();
    const auto found = std::lower_bound(
        table.begin(), table.end(), name,
        [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
    return found != table.end() && found->name == name ? &*found : nullptr;
}

} // namespace berth::tools
