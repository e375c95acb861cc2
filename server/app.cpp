#include "server/app.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/host_limit.hpp"
#include "sandbox/base/shell_word.hpp"
#include "server/application.hpp"
#include "server/audit/audit_log.hpp"
#include "server/cli/adopt_session.hpp"
#include "server/cli/call.hpp"
#include "server/cli/command_line.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "server/cli/sessions.hpp"
#include "server/cli/status.hpp"
#include "server/cli/token.hpp"
#include "server/first_process.hpp"
#include "server/http/serve_http.hpp"
#include "server/log.hpp"
#include "server/mcp/error_details.hpp"
#include "server/options/unknown_variables.hpp"
#include "server/recent_errors.hpp"
#include "server/required_layers.hpp"
#include "server/serve.hpp"
#include "server/session_saver.hpp"
#include "server/version.hpp"
#include "server/workspace_sweeper.hpp"
#include "tools/dialect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace berth::server {
namespace {

/// As one word of a shell: the name alone may lead to another berth, or nowhere.
std::string own_program()
{
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error).string();
    if (path.empty()) {
        return "berth";
    }
    const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
        return c == '/' || c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') ||
               (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    return plain ? path : shell_word(path);
}

void greet_terminal(const tools::Dialect* dialect)
{
    cli::complain("waiting for an MCP client on standard input; Ctrl-D ends it.",
                  "A client starts it by itself once it is registered, e.g.\n"
                  "    claude mcp add berth -- " +
                      own_program() +
                      " serve --mount FOLDER:/home/user/project:rw\n"
                      "To try a tool by hand: berth call " +
                      tools::in_words_of(dialect, "bash_exec") + " '{\"command\":\"uname -a\"}'");
}

/// The client is mostly started where its server is, and obeys files of that folder: what a command
/// writes there (.claude/settings.json) it runs on the host.
void warn_of_mounted_workdir(const std::vector<sandbox::Mount>& mounts)
{
    std::error_code error;
    const auto here = std::filesystem::current_path(error).string() + '/';
    for (const auto& mount : mounts) {
        if (mount.writable && here.starts_with(mount.source + '/')) {
            log::write(log::Level::warning, "started in a writable mount",
                       {{"folder", mount.source},
                        {"hint", "a client that was started there too may run what commands write "
                                 "to its settings: README, \"A mounted project\""}});
        }
    }
}

void warn_of_unknown_variables()
{
    for (const auto& [name, nearest] : unknown_variables(variable_names())) {
        log::write(
            log::Level::warning, "unknown variable, ignored",
            {{"variable", name},
             {"did_you_mean", nearest.empty() ? "berth config lists every setting" : nearest}});
    }
}

void tell_of_settings(const LiveSettings::Change& change)
{
    if (!change.error.empty()) {
        log::write(log::Level::warning, "the settings file has changed, and nothing of it holds",
                   {{"file", change.file}, {"error", change.error}, {"hint", change.hint}});
        return;
    }
    log::write(log::Level::info, "the settings file has changed",
               {{"file", change.file},
                {"in_force", change.in_force},
                {"from_the_next_start", change.later}});
}

constexpr std::string_view ends_what_is_left =
    "`berth sessions gc` ends it, and so does the next server of the same state directory.";

/// What becomes of sessions that nobody calls.
void tell_of_sessions(session::Settings& sessions, const std::string& workspace)
{
    sessions.sweep_saves = make_workspace_sweeper(workspace);
    sessions.on_lost = lost_machines_reporter(sessions.state_directory);
    sessions.on_removed = [](const std::string& session) {
        log::write(log::Level::info, "home removed: its session had no machine for long enough",
                   {{"session", session}});
    };
    sessions.choose_folder = make_folder_chooser();
    sessions.save = make_session_saver();
    sessions.on_saved = [](const session::SavedFiles& saved) {
        log::write(log::Level::info, "files saved of a session that has ended",
                   {{"session", saved.session},
                    {"folder", saved.folder},
                    {"files", std::to_string(saved.files)},
                    {"skipped", std::to_string(saved.skipped.size())}});
    };
    const auto remember = unsaved_files_reporter(sessions.state_directory);
    sessions.on_unsaved = [remember](const std::string& session, const std::string& why) {
        log::write(
            log::Level::warning, "files of a session that has ended are not saved",
            {{"session", session}, {"error", why}, {"hint", "its home is kept until they are"}});
        remember(session, why);
    };
    sessions.on_left = [](const std::string& machine, const std::string& why) {
        log::write(log::Level::warning, "the sandbox of a session without a name is left",
                   {{"sandbox", machine}, {"error", why}, {"hint", ends_what_is_left}});
    };
}

/// To whoever made a call by hand, of which nothing was to be left.
void complain_of_the_left(const std::string& machine, const std::string& why,
                          std::string_view backend)
{
    cli::complain((machine.empty() ? "a sandbox that was being made"
                                   : "the sandbox " + machine + " of this call") +
                      " is left on the backend " + std::string(backend) +
                      ", since it could not be ended: " + why,
                  ends_what_is_left);
}

Observers observers_of(const std::shared_ptr<AuditLog>& audit)
{
    if (!audit) {
        return {};
    }
    return {
        .call = [audit](const Options& options, const SettingsNow& settings,
                        const tools::Entry& tool) { return audit->begin(options, settings, tool); },
        .read = [audit](const Options& options) { return audit->begin_read(options); }};
}

[[noreturn]] void serve(const cli::CommandLine& line, Options options,
                        const std::shared_ptr<sandbox::Backend>& backend,
                        const Composition& composition,
                        const std::shared_ptr<RequiredLayers>& required)
{
    const auto check_on = [required, composition](const std::shared_ptr<sandbox::Backend>& on) {
        return [required, composition, on](const Options& changed) {
            composition.check(changed);
            required->insist(changed, *on);
            warn_of_mounted_workdir(changed.sessions.mounts);
        };
    };
    const auto audit = open_audit_log(options);
    if (options.http.is_wanted()) {
        auto given = line.given;
        given.makes_nothing_yet = true;
        const http::Making making{.given = std::move(given),
                                  .options = std::make_shared<const Options>(std::move(options)),
                                  .backend = backend,
                                  .composition = composition,
                                  .tell_of_settings = tell_of_settings,
                                  .check_on = check_on,
                                  .required = required,
                                  .tell_of_sessions = tell_of_sessions,
                                  .audit = audit};
        http::serve_http(making);
    }
    auto live = std::make_unique<LiveSettings>(line.given, process_environment(), options,
                                               tell_of_settings, check_on(backend));
    Application application(std::move(options), backend, std::move(live), observers_of(audit),
                            composition.extend);
    warn_of_mounted_workdir(application.options().sessions.mounts);
    if (::isatty(STDIN_FILENO) == 1) {
        greet_terminal(application.options().dialect);
    }
    log::write(log::Level::info, "serving",
               {{"version", version}, {"backend", backend->name()}, {"transport", "stdio"}});
    serve_stdio(application, audit);
}

int exit_status_of(const Error& error)
{
    return error.code() == ErrorCode::invalid_argument ? 2 : 1;
}

int diagnose(const cli::CommandLine& line, const Options& options, sandbox::Backend& backend,
             const Composition& composition)
{
    const auto checks = composition.examine(options, backend);
    const int status = cli::show_checks(checks, backend.availability(), line.json);
    try {
        require_known_layers(options, composition);
        if (status == 0) {
            insist(options, checks);
        }
    } catch (const Error& error) {
        // Beside the report, also for who asked for JSON: that has had its document by now.
        cli::complain(error.what(), error.hint());
        return exit_status_of(error);
    }
    return status;
}

/// Without it there are no sessions either, which alone would hide a mistyped name.
void tell_of_missing_state(const Options& options)
{
    std::error_code error;
    const auto& folder = options.sessions.state_directory;
    if (!options.sessions.redis && !std::filesystem::exists(folder, error) && !error) {
        cli::complain("the state directory " + folder + " does not exist",
                      "No server has used it yet, or another is meant: --state-dir, "
                      "BERTH_STATE_DIR.");
    }
}

int run_on_sessions(const cli::CommandLine& line, const Options& options,
                    session::SessionManager& sessions)
{
    const auto key = [&] {
        if (line.key.empty()) { // a shell's variable that is not set, and --purge behind it
            throw Error(ErrorCode::invalid_argument, "no session is named: KEY is empty",
                        "`berth sessions list` shows those there are.");
        }
        return options.keys.apply(options.session.principal, line.key);
    };
    if (line.command == "sessions-list") {
        // Of all, unless the line says whose: a variable may be there for servers.
        const auto of = line.given.values.contains("principal")
                            ? std::optional(options.session.principal)
                            : std::nullopt;
        return cli::tell(cli::list_sessions(sessions, of), line.json);
    }
    if (line.command == "sessions-kill") {
        return cli::tell(
            cli::kill_session(sessions, {key(), line.key}, line.purge,
                              line.no_save ? session::AtEnd::give_up : session::AtEnd::save),
            line.json);
    }
    if (line.command == "sessions-adopt") {
        return cli::tell(
            cli::adopt_session(sessions, {key(), line.key},
                               {.to = options.session,
                                .end_machine = line.end_machine,
                                .any_principal = line.given.values.contains("principal"),
                                .deadline = Deadline::after(options.sessions.lock_wait)}),
            line.json);
    }
    if (line.command == "sessions-gc") {
        return cli::collect_sessions(sessions, line.homes_older_than, line.json);
    }
    if (line.command.starts_with("sessions-")) {
        const cli::Asked asked{key(), line.key};
        return cli::tell(line.command == "sessions-pause"    ? cli::pause_session(sessions, asked)
                         : line.command == "sessions-resume" ? cli::resume_session(sessions, asked)
                                                             : cli::show_session(sessions, asked),
                         line.json);
    }
    return cli::tell(cli::show_status(sessions, options), line.json);
}

int run_with_backend(const cli::CommandLine& line, Options options, const Composition& composition)
{
    const auto backend = composition.make_backend(options);
    tell_of_sessions(options.sessions, options.workspace);
    if (line.command == "doctor") {
        return diagnose(line, options, *backend, composition);
    }
    if (line.command == "serve" || line.command == "call") {
        composition.check(options);
        const auto required = std::make_shared<RequiredLayers>(composition);
        required->insist(options, *backend);
        if (line.command == "serve") {
            serve(line, std::move(options), backend, composition, required);
        }
        const auto audit = open_audit_log(options);
        options.sessions.on_left = [name = backend->name()](const std::string& machine,
                                                            const std::string& why) {
            complain_of_the_left(machine, why, name);
        };
        Application application(std::move(options), backend, nullptr, observers_of(audit));
        const int status = cli::call(application, line.tool, line.arguments, line.json);
        close_audit_log(audit);
        return status;
    }
    if (line.command.starts_with("sessions-")) {
        tell_of_missing_state(options);
    }
    session::SessionManager sessions(options.sessions, backend);
    return run_on_sessions(line, options, sessions);
}

/// To whoever asked for JSON in JSON: a program reads standard output, and would have nothing. What
/// `berth call` prints there is the tool's.
void tell_of_failure(const cli::CommandLine& line, std::string_view code, const std::string& reason,
                     const std::string& remedy, unsigned retry_after = 0)
{
    if (line.json && line.command != "call") {
        cli::print_json(cli::refusal_data(code, reason, remedy, retry_after));
    } else {
        cli::complain(reason, remedy);
    }
}

int run_line(const cli::CommandLine& line, const Composition& composition)
{
    if (line.command == "version") {
        return cli::show_version(line.json);
    }
    try {
        if (line.command == "token") {
            return cli::make_token(line.token_of);
        }
        auto options = make_options(line.given, process_environment());
        if (line.command == "serve" && !options.http.is_wanted() && cli::output_is_closed()) {
            cli::complain("standard output is closed: no MCP client could be answered there");
            return 1;
        }
        log::start(options.log_level, options.log_format);
        warn_of_unknown_variables();
        if (line.command == "config") {
            // What `berth serve` would refuse is not in force.
            (void)select_tools(options);
            composition.check(options);
            require_known_layers(options, composition);
            return cli::show_config(options, line.json);
        }
        return run_with_backend(line, std::move(options), composition);
    } catch (const Error& error) {
        tell_of_failure(line, to_string(error.code()), error.what(), error.hint(),
                        mcp::details_of(error).value("retry_after", 0U));
        return exit_status_of(error);
    } catch (const std::exception& error) {
        const auto limit = host_limit(error);
        tell_of_failure(line, to_string(ErrorCode::internal),
                        limit ? limit->reason + " (" + error.what() + ')' : error.what(),
                        limit ? limit->remedy : std::string());
        return 1;
    }
}

} // namespace

int run(int argc, const char* const* argv, const Composition& composition)
{
    leave_first_process();
    cli::hold_standard_streams();
    // A write beyond `ulimit -f` is to fail like any other, not to end every session.
    ::signal(SIGXFSZ, SIG_IGN); // NOLINT(bugprone-signal-handler)
    for (const auto& limit : {small_stack(), little_time()}) {
        if (limit) {
            cli::complain(limit->reason, limit->remedy);
            return 1;
        }
    }
    int status = 0;
    if (const auto line = cli::parse(argc, argv, status)) {
        status = run_line(*line, composition);
    }
    return cli::tell_lost_output() && status == 0 ? 1 : status;
}

} // namespace berth::server
