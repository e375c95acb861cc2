#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/decode.hpp"
#include "tools/denial_report.hpp"
#include "tools/exec_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

constexpr std::int64_t milliseconds = 1000;
constexpr std::int64_t longest_timeout = 7'200'000;

std::int64_t most_milliseconds(const Settings& settings, bool background = false)
{
    const auto most = background ? settings.job_max_timeout : settings.exec_max_timeout;
    return std::min<std::int64_t>(most.count() * milliseconds, longest_timeout);
}

std::int64_t default_milliseconds(const Settings& settings)
{
    return std::min<std::int64_t>(settings.exec_timeout.count() * milliseconds,
                                  most_milliseconds(settings));
}

/// `bash_exec` counts seconds; nobody gets less than was asked for.
std::int64_t whole_seconds(std::int64_t timeout)
{
    return (timeout + milliseconds - 1) / milliseconds;
}

std::string timeout_hint(std::int64_t most)
{
    return "timeout is in milliseconds, at most " + std::to_string(most) +
           ". What takes longer can run on as a job: run_in_background "
           "starts one.";
}

std::string hint_above_schema(std::int64_t /*value*/)
{
    return timeout_hint(longest_timeout);
}

/// Standard output, then standard error, without blanks at the end.
std::string printed(const json& data)
{
    std::string text = data.at("stdout").get<std::string>();
    const auto& errors = data.at("stderr").get_ref<const std::string&>();
    text += text.empty() || text.ends_with('\n') || errors.empty() ? "" : "\n";
    text += errors;
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

std::string without_empty_lines_before(std::string text)
{
    const auto first = text.find_first_not_of(" \t\r\n");
    const auto line = text.rfind('\n', first);
    return line == text.npos ? text : text.erase(0, line + 1);
}

void append(std::string& text, const std::string& lines)
{
    if (!lines.empty()) {
        text += (text.empty() ? "" : "\n") + lines;
    }
}

/// How the command ended, where that is an error here; else empty.
std::string ending(const json& arguments, const Settings& settings, const json& data)
{
    const auto& fate = data.at("fate").get_ref<const std::string&>();
    const auto code = data.at("exit_code").get<int>();
    if (fate == "timed_out") {
        const auto* asked = given(arguments, "timeout");
        const auto timeout = asked != nullptr
                                 ? std::min(static_cast<std::int64_t>(asked->get<double>()),
                                            most_milliseconds(settings))
                                 : default_milliseconds(settings);
        return "Command did not complete within its " + std::to_string(whole_seconds(timeout)) +
               "s timeout and was stopped.";
    }
    if (fate == "cancelled") {
        return "Command was cancelled and stopped.";
    }
    if (fate == "lost") {
        return "The outcome of the command was lost.";
    }
    return code == 0 ? "" : "Exit code " + std::to_string(code);
}

std::string reason(const json& data)
{
    if (data.at("fate") == "oom_killed") {
        return "[killed: out of memory]";
    }
    return data.at("fate") == "signaled"
               ? "[killed by " + data.at("signal").get<std::string>() + "]"
               : "";
}

/// What was left out of a stream, and where the whole is.
std::string omission(const json& data, const std::string& name)
{
    const auto& stream = data.at(name + "_stream");
    std::string missing = folded_phrase(stream.at("folded_bytes").get<std::uint64_t>(),
                                        stream.at("folded_updates").get<std::uint64_t>());
    if (stream.at("omitted_bytes") != 0) {
        missing += std::string(missing.empty() ? "" : ", ") + "the middle is left out";
    }
    if (missing.empty()) {
        return {};
    }
    const auto total = stream.at("total_bytes").get<std::uint64_t>();
    const auto kept = stream.at("spill_bytes").get<std::uint64_t>();
    const auto path = visible(stream.at("spill_path").get<std::string>());
    const auto fault = visible(stream.at("spill_error").get<std::string>());
    std::string text = "[" + name + " has " + human_bytes(total) + ", " + missing + "; ";
    if (path.empty()) {
        text += "it is not kept";
    } else if (kept >= total) {
        text += "all of it is in " + path + ", which Read pages";
    } else {
        text += "the first " + human_bytes(kept) + " are in " + path + ", which Read pages";
    }
    return text + (fault.empty() ? "" : ": " + fault) + "]";
}

std::string stripped(const json& data)
{
    const auto sequences = data.at("stdout_stream").at("stripped_sequences").get<std::uint64_t>() +
                           data.at("stderr_stream").at("stripped_sequences").get<std::uint64_t>();
    return sequences == 0
               ? ""
               : "[" + counted(sequences, "escape sequence") + " left out; cat -v shows them]";
}

std::string left_running(const json& data)
{
    constexpr std::size_t named = 5;
    const auto& processes = data.at("left_running");
    const auto job = data.at("job_id").get<std::string>();
    if (job.empty() && processes.empty()) {
        return {};
    }
    std::string text = "[left running" + (job.empty() ? "" : " as job " + job);
    text += processes.empty() ? "" : ": ";
    text += joined_first(processes, named, [](const json& process) {
        const auto name = visible(process.at("name").get<std::string>());
        return "pid " + process.at("pid").dump() + (name.empty() ? "" : " (" + name + ")");
    });
    std::string files;
    for (const auto* name : {"stdout_stream", "stderr_stream"}) {
        const auto path = visible(data.at(name).at("spill_path").get<std::string>());
        if (data.at(name).at("held_open") == true && !path.empty()) {
            files += (files.empty() ? "" : " and ") + path;
        }
    }
    text += files.empty() ? "" : "; its output goes on in " + files;
    return text + "]";
}

} // namespace

std::string Bash::describe(const Settings& settings, sandbox::Backend& backend)
{
    return "Runs a bash command in this session's own sandbox: " + backend.description() +
           ".\n\nFiles and background processes stay from call to call; environment variables and "
           "shell settings do not. " +
           (settings.sticky_cwd ? "cd is remembered: the next call starts where this one ended. "
                                : "Every call starts in the home directory. ") +
           "timeout is in milliseconds (default " + std::to_string(default_milliseconds(settings)) +
           ", at most " + std::to_string(most_milliseconds(settings)) +
           "); at the timeout the command and all it started are stopped and you get what it had "
           "printed. There is no terminal, and standard input is empty.\n\n"
           "The result is standard output, then standard error; an exit code other than 0 is an "
           "error that begins with it. Output above " +
           std::to_string(settings.output_budget) +
           " characters loses its middle; the whole of it is in a file in the sandbox that the "
           "last line names.\n\nThe call returns when the shell exits. For servers, watchers and "
           "long "
           "builds pass run_in_background: the call returns at once with a job's ID; bash_output "
           "shows what it prints and how it ended, TaskStop ends it. Use Read, Edit, Glob and "
           "Grep on files: they "
           "see the same file system.\n\n"
           "Example: {\"command\": \"make -j4 && ./run_tests\", \"timeout\": 600000}";
}

json Bash::canonical(const json& arguments, const Settings& settings)
{
    std::string command;
    std::string description;
    std::optional<std::int64_t> timeout;
    bool background = false;
    Decoder in(arguments);
    in.required("command", command);
    in.optional("timeout", timeout, Range{1, longest_timeout, &hint_above_schema});
    in.optional("description", description);
    in.optional("run_in_background", background);
    in.finish();
    json own{{"command", command}};
    if (background) {
        own["background"] = true;
    }
    if (!timeout) {
        return own;
    }
    const auto most = most_milliseconds(settings, background);
    if (*timeout > most && !(background ? settings.cuts_job_timeout : settings.cuts_exec_timeout)) {
        throw Error(ErrorCode::invalid_argument,
                    "timeout: " + std::to_string(*timeout) + " is above the maximum of " +
                        std::to_string(most) + " ms that is set here",
                    timeout_hint(most));
    }
    own["timeout"] = whole_seconds(*timeout);
    return own;
}

void Bash::phrase(const json& arguments, const Settings& settings, Result& result)
{
    const auto& data = *result.data;
    if (data.at("fate") == "running") {
        const auto id = data.at("job_id").get<std::string>();
        result.text = "Command running in background with ID: " + id +
                      ". bash_output {\"job_id\": \"" + id +
                      "\"} shows what it prints, TaskStop ends it.";
        return;
    }
    std::string text;
    if (const auto end = ending(arguments, settings, data); end.empty()) {
        text = without_empty_lines_before(printed(data));
        text += text.empty() ? "(Bash completed with no output)" : "";
    } else {
        result.failed = true;
        // The code comes first, whatever else ended the command last.
        const bool code = end.starts_with("Exit code");
        append(text, code ? end : "");
        append(text, printed(data));
        append(text, code ? "" : end);
    }
    append(text, reason(data));
    if (const auto survivors = data.at("survivors").get<std::uint64_t>(); survivors > 0) {
        append(text, "[" + counted(survivors, "process") + " could not be stopped]");
    }
    append(text, omission(data, "stdout"));
    append(text, omission(data, "stderr"));
    append(text, stripped(data));
    append(text, left_running(data));
    append(text, denials_text(data.at("denials")));
    result.text = std::move(text);
}

} // namespace berth::tools::claude
