#include "tools/foreign_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace berth::tools {
namespace {

struct ForeignName {
    std::string_view plain; ///< as plain() writes it
    std::string_view tool;
    std::string_view in_claude = {}; ///< in that dialect, where its counterpart does not do it
};

/// Of Claude Code, Codex, Gemini CLI, Copilot, Cursor, Cline, OpenHands, AutoGPT's workspace and
/// Anthropic's text editor tool, present and past.
constexpr std::array foreign_names = {
    ForeignName{"bash", "bash_exec"},
    ForeignName{"containerexec", "bash_exec"},
    ForeignName{"exec", "bash_exec"},
    ForeignName{"execcommand", "bash_exec"},
    ForeignName{"executebash", "bash_exec"},
    ForeignName{"executecommand", "bash_exec"},
    ForeignName{"localshell", "bash_exec"},
    ForeignName{"runcommand", "bash_exec"},
    ForeignName{"runinterminal", "bash_exec"},
    ForeignName{"runshellcommand", "bash_exec"},
    ForeignName{"runterminalcmd", "bash_exec"},
    ForeignName{"shell", "bash_exec"},
    ForeignName{"shellcommand", "bash_exec"},
    ForeignName{"terminal", "bash_exec"},
    ForeignName{"writestdin", "bash_input"},
    ForeignName{"killbash", "bash_kill"},
    ForeignName{"killshell", "bash_kill"},
    ForeignName{"taskstop", "bash_kill"},
    ForeignName{"getterminaloutput", "bash_output"},
    ForeignName{"taskoutput", "bash_output"},
    ForeignName{"applypatch", "edit_file"},
    ForeignName{"edit", "edit_file"},
    ForeignName{"multiedit", "edit_file"},
    ForeignName{"replace", "edit_file"},
    ForeignName{"replaceinfile", "edit_file"},
    ForeignName{"replacestringinfile", "edit_file"},
    ForeignName{"strreplace", "edit_file"},
    ForeignName{"strreplacebasededittool", "edit_file"},
    ForeignName{"strreplaceeditor", "edit_file"},
    ForeignName{"filesearch", "glob_files"},
    ForeignName{"find", "glob_files"},
    ForeignName{"findfiles", "glob_files"},
    ForeignName{"glob", "glob_files"},
    ForeignName{"listfiles", "glob_files"},
    ForeignName{"grep", "grep_files"},
    ForeignName{"grepsearch", "grep_files"},
    ForeignName{"ripgrep", "grep_files"},
    ForeignName{"searchfilecontent", "grep_files"},
    ForeignName{"searchfiles", "grep_files"},
    ForeignName{"loadworkspacefile", "load_from_workspace"},
    ForeignName{"readworkspacefile", "load_from_workspace"},
    ForeignName{"listdir", "read_file", "bash_exec"}, // of a directory it shows the entries
    ForeignName{"listdirectory", "read_file", "bash_exec"},
    ForeignName{"ls", "read_file", "bash_exec"},
    ForeignName{"read", "read_file"},
    ForeignName{"view", "read_file"},
    ForeignName{"viewfile", "read_file"},
    ForeignName{"viewimage", "read_file"},
    ForeignName{"saveworkspacefile", "save_to_workspace"},
    ForeignName{"writeworkspacefile", "save_to_workspace"},
    ForeignName{"create", "write_file"},
    ForeignName{"createfile", "write_file"},
    ForeignName{"write", "write_file"},
    ForeignName{"writetofile", "write_file"},
};

/// Its letters and digits, in small ones.
std::string plain(std::string_view name)
{
    std::string letters;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return letters;
}

} // namespace

std::string_view tool_for_foreign_name(std::string_view name, const Dialect* dialect)
{
    constexpr std::size_t longest = 64; // a key may be as long as the whole request
    if (name.size() > longest) {
        return {};
    }
    const auto wanted = plain(name);
    const auto* const other = std::ranges::find(foreign_names, wanted, &ForeignName::plain);
    if (other == foreign_names.end()) {
        return {};
    }
    return dialect == nullptr || other->in_claude.empty() ? other->tool : other->in_claude;
}

} // namespace berth::tools
