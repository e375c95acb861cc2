#include "tools/claude/dialect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "schemas/embedded.hpp"

namespace berth::tools::claude {
namespace {

constexpr std::array bash_arguments = {
    ArgumentName{"command", "command"},
    ArgumentName{"timeout", "timeout"},
    ArgumentName{"description", "description"},
    ArgumentName{"run_in_background", "background"},
    ArgumentName{"dangerouslyDisableSandbox", "dangerouslyDisableSandbox", true},
    ArgumentName{"stdin_open", "stdin_open", true}, // for bash_input, which keeps its name
};
constexpr std::array stop_arguments = {
    ArgumentName{"task_id", "job_id"},
};
constexpr std::array read_arguments = {
    ArgumentName{"file_path", "path"},
    ArgumentName{"offset", "offset"},
    ArgumentName{"limit", "limit"},
    ArgumentName{"pages", "pages"},
    ArgumentName{"allow_large", "allow_large", true},
};
constexpr std::array write_arguments = {
    ArgumentName{"file_path", "path"},
    ArgumentName{"content", "content"},
};
constexpr std::array edit_arguments = {
    ArgumentName{"file_path", "path"},
    ArgumentName{"old_string", "old_text"},
    ArgumentName{"new_string", "new_text"},
    ArgumentName{"replace_all", "replace_all"},
};
constexpr std::array glob_arguments = {
    ArgumentName{"pattern", "pattern"},
    ArgumentName{"path", "path"},
};
constexpr std::array grep_arguments = {
    ArgumentName{"pattern", "pattern"},
    ArgumentName{"path", "path"},
    ArgumentName{"glob", "include"},
    ArgumentName{"type", "type"},
    ArgumentName{"output_mode", "output_mode"},
    ArgumentName{"-A", "after"},
    ArgumentName{"-B", "before"},
    ArgumentName{"-C", "context"},
    ArgumentName{"context", "context"},
    ArgumentName{"-n", "-n"},
    ArgumentName{"-i", "ignore_case"},
    ArgumentName{"-o", "only_matching"},
    ArgumentName{"head_limit", "limit"},
    ArgumentName{"offset", "offset"},
    ArgumentName{"multiline", "multiline"},
};

/// `write_file` can append and `grep_files` can search for plain text; here a command does that.
constexpr std::array phrases = {
    Phrase{"write_file with a part of it, then more calls with mode append",
           "Write a part of it, then append the others with Bash"},
    Phrase{"a long file in pieces with write_file and mode append",
           "a long file in pieces, the first with Write and the others appended with Bash"},
    Phrase{"write_file writes a large file in pieces, the first as usual and the others with mode "
           "\"append\"",
           "a large file in pieces, the first with Write and the others appended with Bash"},
    Phrase{"(write_file, then write_file with mode \"append\")",
           "(Write, then cat >>FILE in Bash)"},
    Phrase{
        "write_file with the first part, then more calls with mode \"append\", each with the next",
        "Write with the first part, then cat >>FILE in Bash, each time with the next"},
    // TaskStop sends no signal that can be chosen.
    Phrase{"bash_kill with signal INT is Ctrl-C", "kill -INT in Bash is Ctrl-C"},
    Phrase{"set `fixed` to search for the text as it stands",
           "write a backslash before what is meant as it stands"},
    Phrase{"`include`", "`glob`"},
    Phrase{"with background starts one", "with run_in_background starts one"},
    Phrase{"background and stdin_open", "run_in_background and stdin_open"},
    Phrase{"background: true, or pass all of the input as stdin",
           "run_in_background: true, or let the command read a file"},
};

template <class T>
constexpr DialectTool line(std::string_view tool, std::string_view name, std::string_view title,
                           std::string_view schema, std::string_view bodies,
                           std::span<const ArgumentName> arguments)
{
    DialectTool result{.tool = tool,
                       .name = name,
                       .title = title,
                       .input_schema = schema,
                       .bodies = bodies,
                       .arguments = arguments,
                       .describe = &T::describe,
                       .canonical = &T::canonical,
                       .phrase = &T::phrase,
                       .explain = nullptr};
    if constexpr (requires { &T::explain; }) {
        result.explain = &T::explain;
    }
    return result;
}

// The diff of an edit is not in the text here, so it is no body.
// clang-format off
constexpr std::array tools = {
    line<Bash>("bash_exec", "Bash", "Run a command", schemas::claude_bash, "stdout stderr", bash_arguments),
    line<TaskStop>("bash_kill", "TaskStop", "End a job", schemas::claude_taskstop, "", stop_arguments),
    line<Edit>("edit_file", "Edit", "Edit a file", schemas::claude_edit, "", edit_arguments),
    line<Glob>("glob_files", "Glob", "Find files by name", schemas::claude_glob, "paths", glob_arguments),
    line<Grep>("grep_files", "Grep", "Search in files", schemas::claude_grep, "files", grep_arguments),
    line<Read>("read_file", "Read", "Read a file", schemas::claude_read, "content entries", read_arguments),
    line<Write>("write_file", "Write", "Write a file", schemas::claude_write, "", write_arguments),
};
// clang-format on

} // namespace

const Dialect& dialect()
{
    static constexpr Dialect claude{.name = "claude", .tools = tools, .phrases = phrases};
    return claude;
}

const nlohmann::json* given(const nlohmann::json& arguments, std::string_view name)
{
    const auto found = arguments.find(name);
    return found == arguments.end() || found->is_null() ? nullptr : &*found;
}

nlohmann::json renamed(const nlohmann::json& arguments, std::string_view tool)
{
    auto result = nlohmann::json::object();
    const auto* const row = std::find_if(tools.begin(), tools.end(),
                                         [&](const auto& each) { return each.tool == tool; });
    for (const auto& argument : row->arguments) {
        if (const auto* value = given(arguments, argument.name)) {
            result[std::string(argument.canonical)] = *value;
        }
    }
    return result;
}

std::optional<Error> explain_missing(const Error& error, const std::string& what)
{
    const auto cwd = error.details().find("cwd");
    if (error.code() != ErrorCode::not_found || cwd == error.details().end()) {
        return std::nullopt;
    }
    return with_facts_of(
        error,
        Error(error.code(), what + " Note: your current working directory is " + cwd->second + '.',
              std::string(error.what()) + "; " + error.hint()));
}

} // namespace berth::tools::claude
