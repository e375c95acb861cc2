#include "server/options/options.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/glob_pattern.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/options/audit_options.hpp"
#include "server/options/command_variables.hpp"
#include "server/options/definitions.hpp"
#include "server/options/http_options.hpp"
#include "server/options/mount_options.hpp"
#include "server/options/mount_roots.hpp"
#include "server/options/network_options.hpp"
#include "server/options/out_of_reach.hpp"
#include "server/options/paths.hpp"
#include "server/options/protection_options.hpp"
#include "server/options/session_name.hpp"
#include "server/options/values.hpp"
#include "tools/protection_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace berth::server {
namespace {

sandbox::Limits make_limits(const Layers& layers)
{
    return {.memory = layers.integer<std::uint64_t>("local.memory"),
            .pids = layers.integer<std::uint32_t>("local.pids"),
            .cpus = layers.number("local.cpus"),
            .nofile = layers.integer<std::uint64_t>("local.nofile"),
            .calls = layers.integer<std::uint32_t>("session.calls"),
            .jobs = layers.integer<std::uint32_t>("session.jobs"),
            .spill_stream = layers.integer<std::uint64_t>("output.spill_stream"),
            .spill_session = layers.integer<std::uint64_t>("output.spill_session"),
            .quota = layers.integer<std::uint64_t>("session.quota")};
}

std::chrono::milliseconds milliseconds(const Layers& layers, std::string_view key)
{
    return std::chrono::milliseconds(layers.integer<std::int64_t>(key));
}

std::chrono::seconds seconds(const Layers& layers, std::string_view key)
{
    const auto value = milliseconds(layers, key);
    if (value % std::chrono::seconds(1) != std::chrono::milliseconds(0)) {
        refuse(*find_definition(key), layers.deciding(key), "whole seconds");
    }
    return std::chrono::duration_cast<std::chrono::seconds>(value);
}

/// A default gives way to the longest that somebody has set, and whatever is said to a profile's
/// maximum of the longest; else what somebody asked for is refused.
std::chrono::seconds seconds_at_most(const Layers& layers, const std::string& key,
                                     const std::string& most)
{
    const auto value = seconds(layers, key);
    const auto limit = seconds(layers, most);
    if (value > limit && !layers.is_at_maximum(most) && layers.raw(key).origin != "default") {
        refuse(*find_definition(key), layers.raw(key),
               "at most " + most + ", " +
                   format_duration(static_cast<double>(std::chrono::milliseconds(limit).count())) +
                   " (" + layers.raw(most).origin + ')');
    }
    return std::min(value, limit);
}

/// What is in force of a default that gave way.
void show_limited(std::vector<Setting>& settings, const std::string& group,
                  std::chrono::seconds in_force, const Layers& layers)
{
    const auto key = group + ".timeout";
    if (seconds(layers, key) == in_force) {
        return;
    }
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&](const Setting& each) { return each.key == key; });
    setting->value =
        format_duration(static_cast<double>(std::chrono::milliseconds(in_force).count()));
    setting->origin += ", at most " + group + ".max_timeout";
}

ControlCharacters control_characters(std::string_view choice)
{
    return choice == "pass"     ? ControlCharacters::pass
           : choice == "escape" ? ControlCharacters::escape
                                : ControlCharacters::strip;
}

tools::Settings make_tool_settings(const Layers& layers)
{
    tools::Settings tools;
    tools.exec_timeout = seconds_at_most(layers, "exec.timeout", "exec.max_timeout");
    tools.exec_max_timeout = seconds(layers, "exec.max_timeout");
    tools.job_timeout = seconds_at_most(layers, "job.timeout", "job.max_timeout");
    tools.job_max_timeout = seconds(layers, "job.max_timeout");
    tools.cuts_exec_timeout = layers.is_clamped("exec.max_timeout");
    tools.cuts_job_timeout = layers.is_clamped("job.max_timeout");
    tools.output_budget = layers.integer<std::uint64_t>("output.budget");
    tools.control_characters = control_characters(layers.choice("output.control_characters"));
    tools.read_limit = layers.integer<std::uint64_t>("read.limit");
    tools.read_budget = layers.integer<std::uint64_t>("read.budget");
    tools.read_image = layers.integer<std::uint64_t>("read.image");
    tools.edit_max_file = layers.integer<std::uint64_t>("edit.max_file");
    tools.glob_limit = layers.integer<std::uint64_t>("glob.limit");
    tools.grep_limit = layers.integer<std::uint64_t>("grep.limit");
    tools.grep_line = layers.integer<std::uint64_t>("grep.line");
    tools.search_time = milliseconds(layers, "search.time");
    tools.sticky_cwd = layers.boolean("sticky_cwd");
    tools.structured_content = layers.boolean("structured_content");
    tools.protection = make_protection(layers);
    return tools;
}

void derive(std::vector<Setting>& settings, const std::string& key, const std::string& value)
{
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&](const Setting& each) { return each.key == key; });
    setting->value = value;
}

/// What is in force where that is not what was given; of an address without its password.
void derive_all(Options& options)
{
    const auto& sessions = options.sessions;
    derive(options.settings, "principal", options.session.principal);
    derive(options.settings, "registry", sessions.redis ? sessions.redis->shown() : std::string());
    derive(options.settings, "state_dir", sessions.state_directory);
    derive(options.settings, "workspace", options.workspace);
}

std::string pick_workspace(const Layers& layers, const std::string& state_directory)
{
    const auto given = layers.text("workspace");
    if (given.empty()) {
        return state_directory + "/workspace";
    }
    if (given.find("://") != std::string::npos) {
        throw Error(ErrorCode::invalid_argument,
                    "workspace = \"" + given + "\" (" + layers.raw("workspace").origin +
                        ") is not supported by this build",
                    "Name a directory.");
    }
    return absolute_path(given);
}

/// The address is never quoted: there may be a password in it.
void pick_registry(const Layers& layers, session::Settings& sessions)
{
    const auto host = require_name(layers.text("session.host"),
                                   "session.host (" + layers.raw("session.host").origin + ")");
    const auto address = layers.text("registry");
    if (address.empty()) {
        return;
    }
    try {
        sessions.redis = session::parse_redis_url(address);
    } catch (const Error& error) {
        throw Error(ErrorCode::invalid_argument,
                    std::string(error.what()) + " (" + layers.raw("registry").origin + ')',
                    error.hint());
    }
    sessions.place = session::this_place(host, sessions.state_directory);
}

/// What it means is the backend's to say; of `local` it is a folder of this host.
std::string pick_template(const Layers& layers, const Given& given)
{
    auto text = layers.text("template");
    if (text.empty() || given.only_looks) {
        return text;
    }
    const auto& origin = layers.raw("template").origin;
    if (layers.choice("backend") == "e2b") {
        require_template_name(text, origin);
        return text;
    }
    auto folder = resolve_template(text, origin);
    MountRoots(layers.raw("allowed_mount_roots")).require(folder, origin, "template");
    return folder;
}

/// What no shell is started for would fail each call of each fresh machine.
std::vector<std::string> commands_of_setup(const RawValue& raw)
{
    for (std::size_t i = 0; i < raw.items.size(); ++i) {
        const auto& command = raw.items[i];
        const bool is_empty = command.find_first_not_of(" \t\r\n") == std::string::npos;
        if (is_empty || command.find('\0') != std::string::npos) {
            throw Error(ErrorCode::invalid_argument,
                        "session.setup (" + raw.origin + "), entry " + std::to_string(i + 1) +
                            (is_empty ? ": it is empty" : ": it contains a NUL byte"),
                        "Each entry is a command of bash.");
        }
    }
    return raw.items;
}

session::Setup make_setup(const Layers& layers, const tools::Settings& settings)
{
    return {.commands = commands_of_setup(layers.raw("session.setup")),
            .timeout = seconds(layers, "session.setup_timeout"),
            .variables = settings.command_variables,
            .withheld = settings.withheld_secrets,
            .protection = tools::protection_of(settings)};
}

/// Relative to the home, without what says so: "~/out/" is "out". One that means another place is
/// none of the home.
std::vector<std::string> patterns_of_home(const RawValue& raw)
{
    std::vector<std::string> patterns;
    for (const auto& item : raw.items) {
        const auto path = std::filesystem::path(item.starts_with("~/") ? item.substr(2) : item);
        std::string pattern;
        bool is_inside = path.is_relative() && item != "~";
        for (const auto& each : path) {
            const auto name = each.string();
            is_inside = is_inside && name != "..";
            if (!name.empty() && name != ".") {
                pattern += (pattern.empty() ? "" : "/") + name;
            }
        }
        if (!is_inside || pattern.empty() || !utf8::is_valid(pattern)) {
            throw Error(ErrorCode::invalid_argument,
                        "session.save_on_end \"" + item + "\" (" + raw.origin +
                            ") is not below the home",
                        "Name files, folders or globs relative to the home: out, report/*.pdf; ** "
                        "is all of it.");
        }
        try { // else it is found when the session has ended, and keeps its home
            (void)GlobPattern::compile(pattern);
        } catch (const Error& error) {
            throw Error(ErrorCode::invalid_argument,
                        "session.save_on_end \"" + item + "\" (" + raw.origin +
                            "): " + error.what(),
                        error.hint() + " Of a name that has a bracket: \\[.");
        }
        patterns.push_back(std::move(pattern));
    }
    return patterns;
}

/// A server clears up after the sessions of all profiles: its own profile's word is for its own.
void pick_retention(const Layers& layers, session::Settings& sessions)
{
    constexpr auto key = "session.home_retention";
    sessions.home_retention = seconds(layers, key);
    sessions.own_retention = layers.is_of_profile(key);
    if (const auto told = layers.beside_profile(key)) {
        sessions.told_retention = std::chrono::ceil<std::chrono::seconds>(
            std::chrono::duration<double, std::milli>(*told));
    }
}

/// The session of whoever started a server for others is one that nobody may ever call.
Given making_of(const Given& given, const HttpOptions& http)
{
    auto making = given;
    making.makes_nothing_yet |= given.is_server && http.is_wanted();
    return making;
}

session::Settings make_session_settings(const Layers& layers, const Given& given,
                                        const session::SessionId& id,
                                        const Environment& environment)
{
    session::Settings sessions;
    const auto state = layers.text("state_dir");
    sessions.state_directory =
        state.empty() ? default_state_directory(environment) : absolute_path(state);
    pick_registry(layers, sessions);
    sessions.template_name = pick_template(layers, given);
    auto mounts = make_mounts(layers, given, id, sessions.state_directory);
    sessions.mounts = std::move(mounts.mounts);
    sessions.make_workspace = std::move(mounts.make_workspace);
    const auto network = pick_network(layers, given);
    sessions.network = network.network;
    sessions.outbound = network.outbound;
    sessions.filter = network.filter;
    sessions.mounts_read_only = layers.choice("mount_mode") == "ro";
    sessions.limits = make_limits(layers);
    sessions.path_policy = layers.choice("path_policy");
    sessions.ttl = seconds(layers, "session.ttl");
    sessions.max_sessions = layers.integer<std::size_t>("session.max");
    sessions.max_sessions_per_principal = layers.integer<std::size_t>("session.max_per_principal");
    pick_retention(layers, sessions);
    sessions.idle_pause = milliseconds(layers, "session.idle_pause");
    sessions.save_on_end.patterns = patterns_of_home(layers.raw("session.save_on_end"));
    if (!given.only_looks && id.principal.empty() && !sessions.save_on_end.patterns.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "session.save_on_end (" + layers.raw("session.save_on_end").origin +
                        ") needs a workspace, which belongs to a principal, and there is none",
                    "Name one with --principal, or leave the setting out.");
    }
    sessions.on_disconnect = *protocol::on_disconnect_from(layers.choice("session.on_disconnect"));
    return sessions;
}

/// What commands can write without a mount.
std::vector<sandbox::Mount> written_by_commands(const Options& options)
{
    std::error_code error;
    std::vector<sandbox::Mount> places;
    for (const auto& folder : {options.sessions.state_directory + "/sessions", options.workspace}) {
        const auto real = std::filesystem::weakly_canonical(folder, error);
        places.push_back(
            {.source = error ? folder : real.string(), .target = {}, .writable = true});
    }
    return places;
}

/// Who writes them is let in as whom he likes, or has done nothing.
std::vector<std::string> own_files(const Options& options, const Environment& environment)
{
    std::vector<std::string> files;
    for (const auto& file : {options.http.token_file, options.http.operator_token_file,
                             options.http.jwt.keys, options.audit.path}) {
        if (!file.empty()) {
            files.push_back(file);
        }
    }
    // Who is in it is taken for the server that a secret is for.
    if (const auto trusted = environment("SSL_CERT_FILE");
        trusted && !trusted->empty() && !options.sessions.filter.secrets.empty()) {
        files.push_back(*trusted);
    }
    return files;
}

/// Behind what is made of the folders.
void add_variables(Options& options, const Layers& layers, const Given& given,
                   const Environment& environment)
{
    options.secret_memory =
        given.secret_memory ? given.secret_memory : std::make_shared<SecretMemory>();
    CommandVariables variables(layers.raw("env"), layers.raw("secret"), environment,
                               options.secret_memory, withheld_secrets(options.sessions.filter));
    const auto files = variables.files();
    const auto settings = settings_files(given.config_file, environment);
    auto places = written_by_commands(options);
    places.insert(places.end(), options.sessions.mounts.begin(), options.sessions.mounts.end());
    const auto own = own_files(options, environment);
    if (!given.only_looks) {
        require_out_of_reach(settings, files, places);
        require_own_out_of_reach(own, places);
    }
    auto& out_of_reach = options.sessions.out_of_reach;
    out_of_reach = settings;
    out_of_reach.insert(out_of_reach.end(), files.begin(), files.end());
    out_of_reach.insert(out_of_reach.end(), own.begin(), own.end());
    options.tools.gives_secrets = variables.gives_secrets();
    // Also where none is named any more: a job may have one, or a call that still runs.
    if (variables.has_secrets() || given.secret_memory) {
        options.tools.secrets = [variables, files, places] {
            try {
                require_out_of_reach({}, files, places);
            } catch (const Error&) {
                // A command could read by what is masked what a link of its own leads to.
                return variables.known_secrets();
            }
            return variables.secrets();
        };
        options.tools.known_secrets = [variables] { return variables.known_secrets(); };
    }
    const auto require_files = [files, places = std::move(places)] {
        // Each time: a link on the way may lead elsewhere by now.
        try {
            require_out_of_reach({}, files, places);
        } catch (const Error& error) { // none of the agent's
            throw Error(ErrorCode::sandbox_unavailable,
                        std::string(error.what()) + "; nothing was run", error.hint());
        }
    };
    if (variables.has_withheld()) {
        options.tools.withheld_secrets = [variables, require_files] {
            require_files();
            return variables.withheld();
        };
    }
    options.tools.command_variables = [variables = std::move(variables), require_files] {
        require_files();
        return variables.now();
    };
}

void show_limits(Options& options, const Layers& layers)
{
    show_limited(options.settings, "exec", options.tools.exec_timeout, layers);
    show_limited(options.settings, "job", options.tools.job_timeout, layers);
}

std::shared_ptr<const RawValues> file_of(const Given& given, const Environment& environment)
{
    return given.file
               ? given.file
               : std::make_shared<const RawValues>(read_settings(given.config_file, environment));
}

/// Rules of a network that nobody asks for ask for nothing.
void note_asked(Options& options)
{
    const bool is_filtered = options.sessions.network == sandbox::Network::filtered;
    for (const auto& setting : options.settings) {
        if (setting.origin != "default" && (is_filtered || !setting.key.starts_with("filter."))) {
            options.sessions.asked.insert(setting.key == "default_workspace" ? "mount"
                                                                             : setting.key);
        }
    }
}

} // namespace

Environment process_environment()
{
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str()); // NOLINT(concurrency-mt-unsafe): at start
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
}

Options make_options(const Given& given, const Environment& environment)
{
    auto file = file_of(given, environment);
    const Layers layers(given.values, *file, environment, given.kept);
    Options options{.backend = layers.choice("backend"),
                    .profile = layers.profile(),
                    .keys = KeyTemplate(layers.raw("session.key"), layers.raw("var"),
                                        layers.profile(), given.only_looks)};
    options.settings = layers.settings();
    options.written = layers.raw();
    options.file = std::move(file);
    options.http = make_http_options(layers);
    if (given.is_server || given.shows) {
        require_http_for_flags(layers, options.http);
    }
    options.audit = make_audit_options(layers);
    const auto& owner = layers.raw("principal");
    const bool names_owner = owner.origin != "default";
    const auto [session, session_origin] = pick_session(given, environment, options.http);
    options.session = options.keys.apply(
        names_owner ? require_name(layers.text("principal"), "the principal (" + owner.origin + ")")
                    : user_name(),
        session);

    options.sessions =
        make_session_settings(layers, making_of(given, options.http), options.session, environment);
    note_asked(options);
    options.e2b_lease = milliseconds(layers, "e2b.lease");
    options.e2b_same_account = layers.raw("e2b.same_account").items;
    options.tools = make_tool_settings(layers);
    show_limits(options, layers);
    options.workspace = pick_workspace(layers, options.sessions.state_directory);
    add_variables(options, layers, given, environment);
    options.sessions.setup = make_setup(layers, options.tools);
    options.sessions.save_on_end.workspace = options.workspace;
    options.dialect = tools::find_dialect(layers.choice("tool_dialect"));
    options.served_tools = layers.raw("tools").items;
    options.read_only = layers.boolean("read_only");
    options.required_layers = layers.raw("require").items;
    options.message_limit = layers.integer<std::size_t>("request.max");
    // Else a small one in flight would keep the largest out for as long as it takes.
    options.rpc.bytes_in_flight = std::max(options.rpc.bytes_in_flight, 2 * options.message_limit);
    options.rpc.read.depth = layers.integer<std::size_t>("rpc.depth");
    options.rpc.in_flight = layers.integer<std::size_t>("rpc.in_flight");
    options.log_level = layers.choice("log.level");
    options.log_format = layers.choice("log.format");

    derive_all(options);
    options.settings.push_back({"session", session, session_origin});
    std::sort(options.settings.begin(), options.settings.end(),
              [](const Setting& a, const Setting& b) { return a.key < b.key; });
    return options;
}

} // namespace berth::server
