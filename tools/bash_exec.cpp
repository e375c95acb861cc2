#include "tools/bash_exec.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/dialect.hpp"
#include "tools/exec_report.hpp"
#include "tools/output_budget.hpp"
#include "tools/progress.hpp"
#include "tools/protection_report.hpp"
#include "tools/quota_report.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace berth::tools {
namespace {

constexpr std::size_t id_bytes = 16;
constexpr std::int64_t longest_timeout = 7200;

/// Claude's built-in Bash counts milliseconds, so models write 120000 and mean two minutes. 7201
/// and the like are not meant so, and 8000 may be either.
std::string timeout_hint(std::int64_t value, std::int64_t most, bool is_job)
{
    constexpr std::int64_t milliseconds = 1000;
    constexpr std::int64_t surely_milliseconds = 100'000;
    const std::int64_t meant = value / milliseconds;
    const bool possible = meant >= 1 && meant <= most;
    if (possible && value >= surely_milliseconds) {
        return "timeout is in seconds; did you mean " + std::to_string(meant) + " s?";
    }
    const std::string limit = (is_job ? "timeout is in seconds, and a job lives at most " +
                                            std::to_string(most) + " s (job.max_timeout)"
                                      : "timeout is in seconds, at most " + std::to_string(most)) +
                              (possible && value % milliseconds == 0
                                   ? " (if milliseconds are meant: " + std::to_string(meant) + ")."
                                   : ".");
    return is_job ? limit
                  : limit + " What takes longer can run on as a job: background starts one, and "
                            "on_timeout makes one of a command that is not done in time.";
}

std::string hint_above_schema(std::int64_t value)
{
    return timeout_hint(value, longest_timeout, false);
}

std::string hint_above_schema_for_job(std::int64_t value)
{
    return timeout_hint(value, longest_timeout, true);
}

std::int64_t timeout_of(const BashExec::Args& args, const Settings& settings)
{
    const auto most = std::min<std::int64_t>(
        (args.background ? settings.job_max_timeout : settings.exec_max_timeout).count(),
        args.background ? longest_timeout : settings.exec_max_timeout.count());
    const auto usual = (args.background ? settings.job_timeout : settings.exec_timeout).count();
    const std::int64_t timeout = args.timeout.value_or(std::min<std::int64_t>(usual, most));
    if (timeout > most &&
        (args.background ? settings.cuts_job_timeout : settings.cuts_exec_timeout)) {
        return most;
    }
    if (timeout > most) {
        throw Error(ErrorCode::invalid_argument,
                    "timeout: " + std::to_string(timeout) + " is above the maximum of " +
                        std::to_string(most) + " s that is set here",
                    timeout_hint(timeout, most, args.background));
    }
    return timeout;
}

void check_command(const std::string& command)
{
    if (command.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw Error(ErrorCode::empty_command, "command: there is nothing to run",
                    "If the command was cut off because it was too long, write it to a file with "
                    "write_file and run that.");
    }
    // The kernel ends an argument at its first NUL: the rest of the command would silently not run.
    if (command.find('\0') != std::string::npos) {
        throw Error(ErrorCode::invalid_argument, "command: a command cannot contain a NUL byte",
                    "Use printf '\\0' to write one.");
    }
}

/// A name may be as long as the whole request.
std::string shown_name(std::string_view name)
{
    constexpr std::size_t shown = 64;
    return visible_beginning(name, shown, "…");
}

void check_environment(const std::map<std::string, std::string>& environment)
{
    for (const auto& [key, value] : environment) {
        // Programs read names like "A.B" as well; with a blank it is a mistake, and bash would not
        // show the variable.
        if (key.empty() || std::any_of(key.begin(), key.end(), [](unsigned char c) {
                return c == '=' || c <= ' ' || c == 0x7f;
            })) {
            throw Error(ErrorCode::invalid_argument,
                        "env: \"" + shown_name(key) + "\" is no name of an environment variable",
                        "A name is not empty and holds no '=', blank or control character; in "
                        "scripts only letters, digits and _ can be used.");
        }
        if (value.find('\0') != std::string::npos) {
            throw Error(ErrorCode::invalid_argument,
                        "env: the value of " + shown_name(key) + " contains a NUL byte",
                        "An environment variable ends at its first NUL. Write the bytes to a file, "
                        "or pass them as stdin.");
        }
    }
}

/// Which directory was probably meant, asked of the guest as for a file: its loop, which starts
/// commands, must not read directories. Nothing was run, so asking once more does no harm.
std::string hint_for_workdir(sandbox::Sandbox& sandbox, const std::string& workdir,
                             const Error& missing, const std::stop_token& stop)
{
    auto hint = missing.hint();
    protocol::ReadFileRequest request;
    request.path = workdir;
    request.limit = 1;
    request.budget = 1;
    try {
        (void)sandbox.read_file(request, stop);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found && !error.hint().empty()) {
            hint = error.hint();
        }
    } catch (const std::exception&) {
        return hint; // the one that there is will do
    }
    return hint;
}

/// Of how a command ended and what it printed, but not of how long it took.
std::string outcome_digest(const protocol::ExecuteReply& reply, const ShownStream& out,
                           const ShownStream& err)
{
    Sha256 digest;
    digest.update(ended_phrase(reply.fate, reply.exit_code, reply.signal));
    for (const auto* stream : {&out, &err}) {
        digest.update('\n' + std::to_string(stream->omitted_bytes) + ' ' +
                      std::to_string(stream->text.size()) + '\n');
        digest.update(stream->text);
    }
    return digest.finish();
}

} // namespace

std::span<const Alias> BashExec::aliases()
{
    static constexpr std::array table = {
        Alias{"cmd", "command"},
        Alias{"timeout_sec", "timeout"},
        Alias{"cwd", "workdir"},
        Alias{"environment", "env"},
        Alias{"input", "stdin"},
        Alias{"dangerouslyDisableSandbox", ""},
        Alias{"run_in_background", "background"},
    };
    return table;
}

BashExec::Args BashExec::decode(const nlohmann::json& arguments)
{
    Args args;
    std::string description;
    Decoder in(arguments);
    in.required("command", args.command);
    in.optional("workdir", args.workdir, Length{1});
    in.optional("env", args.env);
    in.optional("stdin", args.input);
    in.optional("background", args.background);
    in.optional("timeout", args.timeout,
                Range{1, longest_timeout,
                      args.background ? &hint_above_schema_for_job : &hint_above_schema});
    in.choice(
        "on_timeout", args.on_timeout,
        {{"kill", protocol::OnTimeout::kill}, {"background", protocol::OnTimeout::background}});
    in.optional("stdin_open", args.stdin_open);
    in.optional("description", description);
    in.finish();
    return args;
}

std::string BashExec::describe(const Settings& settings, sandbox::Backend& backend)
{
    const auto most = std::min<std::int64_t>(settings.exec_max_timeout.count(), longest_timeout);
    return "Runs a bash command in this session's own sandbox: " + backend.description() +
           ".\n\nFiles and background processes stay from call to call; environment variables and "
           "shell settings do not. " +
           (settings.sticky_cwd
                ? "cd is remembered: the next call starts where this one ended. "
                : "Every call starts in the home directory; pass workdir or begin with cd. ") +
           "timeout is in seconds (default " + std::to_string(settings.exec_timeout.count()) +
           ", at most " + std::to_string(most) +
           "); at the timeout the command and all it started are stopped and you get what it had "
           "printed, or with on_timeout=background it runs on. There is no terminal, and standard "
           "input is empty unless you pass stdin.\n\n"
           "The result is standard output, then standard error below [stderr], then one line in "
           "brackets when there is something to say, such as [exit 1]; a failing command is an "
           "ordinary result. Output above " +
           std::to_string(settings.output_budget) +
           " characters loses its middle; the whole of it is in a file in the sandbox that the "
           "line names.\n\nThe call returns when the shell exits. For servers, watchers and long "
           "builds pass background: the call returns at once with a job id; bash_output then shows "
           "what the job prints and how it ended, bash_kill ends it. What any other command leaves "
           "running (`server &`) becomes a job as well. Use read_file, edit_file, glob_files and "
           "grep_files on files: they see the same file system.\n\n"
           "Example: {\"command\": \"make -j4 && ./run_tests\", \"timeout\": 600}";
}

protocol::ExecuteRequest BashExec::request(const Args& args, const Settings& settings)
{
    check_command(args.command);
    check_environment(args.env);
    if (args.stdin_open && !args.background) {
        throw Error(ErrorCode::invalid_argument, "stdin_open is for commands in the background",
                    "Add background: true, or pass all of the input as stdin.");
    }
    // In bytes: enough for the budget in characters even where each takes four.
    constexpr std::uint64_t widest_character = 4;
    const std::uint64_t kept = settings.output_budget * widest_character;
    protocol::ExecuteRequest request;
    request.id = random_hex(id_bytes);
    request.command = args.command;
    request.timeout = static_cast<std::uint64_t>(timeout_of(args, settings)) * 1000;
    request.workdir = args.workdir;
    if (settings.command_variables) {
        request.environment = settings.command_variables();
    }
    for (const auto& [variable, value] : args.env) {
        request.environment.insert_or_assign(variable, value);
    }
    request.input = args.input;
    request.head_limit = kept * head_percent / 100;
    request.tail_limit = kept - request.head_limit;
    request.spill_above = settings.output_budget;
    request.sticky_cwd = settings.sticky_cwd;
    request.background = args.background;
    request.on_timeout = args.on_timeout;
    request.job_lifetime = static_cast<std::uint64_t>(settings.job_max_timeout.count()) * 1000;
    request.stdin_open = args.stdin_open;
    request.protection = protection_of(settings);
    request.has_secrets = settings.gives_secrets;
    return request;
}

Result BashExec::run(Context& context, const Args& args)
{
    auto asked = request(args, context.settings);
    asked.progress = wanted_progress(context);
    asked.acknowledge = true;
    context.time = std::chrono::milliseconds(asked.background ? 0 : asked.timeout);
    sandbox::Receipt receipt;
    const auto reply = with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        for (const auto& [variable, placeholder] :
             sandbox.placeholders(context.settings.withheld_secrets)) {
            if (!args.env.contains(variable)) { // whoever calls may say another value
                asked.environment.insert_or_assign(variable, placeholder);
            }
        }
        try {
            return sandbox.execute(asked, context.stop, show_printed(context), &receipt);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::not_found || asked.workdir.empty()) {
                throw;
            }
            throw with_facts_of(
                error, Error(error.code(), error.what(),
                             hint_for_workdir(sandbox, asked.workdir, error, context.stop)));
        }
    });
    const auto seconds = static_cast<std::int64_t>(asked.timeout / 1000);
    auto result = render(reply, std::chrono::seconds(seconds), context.settings);
    if (args.timeout.value_or(seconds) > seconds) {
        result.notices.push_back("timeout: " + std::to_string(*args.timeout) +
                                 " s were asked for, and are cut to the maximum of " +
                                 std::to_string(seconds) + " s that is set here");
    }
    if (!reply.notice.empty()) {
        result.notices.push_back(reply.notice);
    }
    auto limit =
        quota_met(reply.quota, {reply.out.head, reply.out.tail, reply.err.head, reply.err.tail});
    if (limit.empty()) {
        limit = quota_warning(reply.quota);
    }
    if (!limit.empty()) {
        result.notices.push_back(std::move(limit));
    }
    tell_protected(context, *result.data, reply.protected_changes);
    result.receipt = std::move(receipt);
    return result;
}

Result BashExec::render(const protocol::ExecuteReply& reply, std::chrono::seconds timeout,
                        const Settings& settings)
{
    const auto [out, err] =
        show_streams(reply.out, reply.err, settings.output_budget, settings.control_characters);
    Result result{exec_text(reply, out, err, timeout), exec_data(reply, out, err, timeout)};
    if (reply.exit_code != 0 && !reply.background) {
        result.unsuccessful = outcome_digest(reply, out, err);
    }
    return result;
}

} // namespace berth::tools
