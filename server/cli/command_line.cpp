#include "server/cli/command_line.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/visible.hpp"
#include "server/cli/print.hpp"
#include "server/cli/wrong_words.hpp"
#include "server/options/definitions.hpp"
#include "server/options/values.hpp"
#include "tools/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace berth::server::cli {
namespace {

constexpr int usage_status = 2;

/// Where the parser puts what it finds, until it is known which flags were given.
class Flags {
  public:
    explicit Flags(CLI::App& app)
    {
        for (const auto& definition : definitions()) {
            if (definition.has_flag) {
                add(app, definition);
            }
        }
    }

    [[nodiscard]] std::map<std::string, RawValue> values() const
    {
        std::map<std::string, RawValue> given;
        for (const auto& slot : slots_) {
            if (slot.option->count() > 0) {
                given.emplace(slot.definition->key, value_of(slot));
            }
        }
        return given;
    }

  private:
    struct Slot {
        const Definition* definition;
        CLI::Option* option;
        std::vector<std::string> items;
        std::string flag;
    };

    void add(CLI::App& app, const Definition& definition)
    {
        auto& slot = slots_.emplace_back(Slot{&definition, nullptr, {}, {}});
        const auto flag = flag_of(definition);
        auto help = std::string(definition.help);
        if (!definition.choices.empty()) {
            help += " (" + std::string(definition.choices) + ")";
        }
        help +=
            " [" + variable_of(definition) +
            (definition.fallback.empty() ? "" : ", default " + std::string(definition.fallback)) +
            "]";
        if (definition.kind == Kind::boolean) {
            slot.option = app.add_flag(flag, slot.flag, help);
        } else {
            // One text each time; without this the help would show several ("VALUE ...").
            slot.option = app.add_option(flag, slot.items, help)->expected(1);
            // Nor may it take the words that follow: a command, a tool's name.
            slot.option->allow_extra_args(false);
            slot.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
            slot.option->type_name(definition.kind == Kind::list ? "ITEM,..." : "VALUE");
        }
    }

    static RawValue value_of(const Slot& slot)
    {
        RawValue value{.items = {}, .origin = "flag " + flag_of(*slot.definition)};
        if (slot.definition->kind == Kind::boolean) {
            value.items = {slot.flag};
        } else if (slot.definition->kind != Kind::list) {
            value.items = {slot.items.back()}; // the last one given
        } else {
            for (const auto& text : slot.items) {
                for (auto& item : split_list(text)) {
                    value.items.push_back(std::move(item));
                }
            }
        }
        return value;
    }

    std::deque<Slot> slots_; // the parser keeps addresses into it
};

/// Commands take the flags of the settings too, before or after their name.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help)
{
    auto* command = app.add_subcommand(name, help);
    command->fallthrough();
    command->footer("Settings: see `berth serve --help`.");
    return command;
}

/// Every setting: those with a flag as CLI11 shows them, and the others.
std::string settings_help(const CLI::App& app)
{
    constexpr std::size_t most_of_default = 32; // else one list pushes the help of all out of sight
    const auto with_flag =
        app.get_options([](const CLI::Option* option) { return option->get_name() != "--help"; });
    std::vector<std::vector<std::string>> rows;
    for (const auto& definition : definitions()) {
        if (!definition.has_flag) {
            rows.push_back({"  " + variable_of(definition), std::string(definition.key),
                            or_dash(visible_beginning(definition.fallback, most_of_default, "…")),
                            std::string(definition.help)});
        }
    }
    std::vector<std::vector<std::string>> others;
    for (const auto& variable : other_variables()) {
        others.push_back({"  " + std::string(variable.name), std::string(variable.help)});
    }
    return CLI::Formatter().make_group("Settings", false, with_flag) +
           "\nSettings without a flag (variable, key in the file, default, which `berth config` "
           "shows whole):\n" +
           table(rows) + "\nVariables of the backend e2b:\n" + table(others);
}

/// What may be called, and how.
std::string call_help()
{
    return "Tools: " + joined(tools::all_tools(), ", ", &tools::Entry::name) +
           ".\nThe arguments of each are in docs/tools.md; without JSON the call of a tool that "
           "needs some shows an example.\n\n"
           "  berth call bash_exec '{\"command\": \"uname -a\"}'\n"
           "  berth call --session work write_file - <arguments.json\n\n"
           "Settings: see `berth serve --help`.";
}

using Commands = std::vector<std::pair<CLI::App*, const char*>>;

/// Those about sessions, which make none.
Commands add_session_commands(CLI::App& app, CommandLine& line)
{
    auto* sessions = add_command(app, "sessions", "the sessions of this state directory");
    sessions->require_subcommand(1);
    auto* list = add_command(*sessions, "list", "list them");
    auto* kill = add_command(*sessions, "kill", "end a session's machine");
    kill->add_option("KEY", line.key, "what was given to --session, or its SANDBOX in the list")
        ->required();
    kill->add_flag("--purge", line.purge, "remove its home folder too");
    kill->add_flag("--no-save", line.no_save, "and save nothing of it (session.save_on_end)");
    const std::vector<CLI::App*> on_one{
        add_command(*sessions, "show", "how one is: what runs, when it pauses and ends"),
        add_command(*sessions, "pause", "freeze what runs in one until its next call"),
        add_command(*sessions, "resume", "wake a paused one")};
    for (auto* command : on_one) {
        command->add_option("KEY", line.key, "as of kill")->required();
    }
    auto* adopt = add_command(*sessions, "adopt",
                              "give the home of one, or one that no book knows, to --session NAME");
    adopt->add_option("ID", line.key, "its SANDBOX, key or name")->required();
    adopt->add_flag("--end-machine", line.end_machine,
                    "end its machine also with its jobs, or while the server of an unnamed one "
                    "is there");
    auto* gc = add_command(*sessions, "gc",
                           "clear up after dead machines, and remove homes that were kept for "
                           "session.home_retention");
    gc->add_option("--homes-older-than", line.homes_older_than,
                   "remove those without a machine for so long instead: 3d; 0s: all of them")
        ->type_name("DURATION");
    Commands commands{{list, "sessions-list"},
                      {kill, "sessions-kill"},
                      {on_one[0], "sessions-show"},
                      {on_one[1], "sessions-pause"},
                      {on_one[2], "sessions-resume"},
                      {adopt, "sessions-adopt"},
                      {gc, "sessions-gc"}};
    for (const auto& [command, name] : commands) {
        command->add_flag("--json", line.json, "as JSON");
    }
    return commands;
}

/// The commands, and the names by which the rest of the program knows them.
Commands add_commands(CLI::App& app, CommandLine& line)
{
    auto* serve = add_command(app, "serve",
                              "speak MCP on standard input and output (the default), or over HTTP "
                              "(--http, --unix)");
    auto* call = add_command(app, "call", "call one tool and print its text");
    call->add_option("TOOL", line.tool, "name of the tool")->required();
    call->add_option("JSON", line.arguments, "its arguments; - reads them from standard input");
    call->add_flag("--json", line.json, "print the whole result");
    call->footer(call_help());
    Commands commands{{serve, "serve"}, {call, "call"}};
    const auto on_sessions = add_session_commands(app, line);
    commands.insert(commands.end(), on_sessions.begin(), on_sessions.end());
    auto* status = add_command(app, "status", "whether sandboxes work here, and what runs");
    auto* doctor = add_command(app, "doctor", "what isolates a sandbox here, proven by trying");
    auto* config = add_command(app, "config", "the settings in force and where each came from");
    auto* token = add_command(app, "token", "make a token for calls over HTTP");
    token->add_option("PRINCIPAL", line.token_of, "whose it is")->required();
    commands.emplace_back(token, "token");
    auto* version = add_command(app, "version", "version, libraries, protocol revisions");
    for (auto* command : {status, doctor, config, version}) {
        command->add_flag("--json", line.json, "as JSON");
    }
    commands.insert(
        commands.end(),
        {{status, "status"}, {doctor, "doctor"}, {config, "config"}, {version, "version"}});
    return commands;
}

/// "help" where the name of a command is looked for: after flags and what they are given.
std::vector<std::string>::const_iterator find_help(const CLI::App& app,
                                                   const std::vector<std::string>& words)
{
    auto word = words.begin();
    while (word != words.end() && word->starts_with('-')) {
        const auto* option = app.get_option_no_throw(*word);
        const bool takes_next = option != nullptr && option->get_items_expected_max() > 0;
        word += takes_next && word + 1 != words.end() ? 2 : 1;
    }
    return word != words.end() && *word == "help" ? word : words.end();
}

/// `berth help call` is `berth call --help`.
std::vector<std::string> without_help(const CLI::App& app, std::vector<std::string> words)
{
    if (const auto help = find_help(app, words); help != words.end()) {
        words.erase(help);
        words.emplace_back("--help");
    }
    return words;
}

/// Of help that is asked for on a command that there is not: the parser would show that of all, or
/// of the command that it should be one of.
bool complain_of_topic(const CLI::App& app, const std::vector<std::string>& words)
{
    auto word = find_help(app, words);
    if (word == words.end()) {
        return false;
    }
    std::string path;
    const auto* at = &app;
    for (++word; word != words.end() && !word->starts_with('-'); ++word) {
        if (at == &app && *word == "help") {
            continue; // the parser does not know it
        }
        if (at->get_subcommands(nullptr).empty()) {
            return false; // its arguments
        }
        const auto found = at->get_subcommands(
            [&](const CLI::App* command) { return command->get_name() == *word; });
        if (found.empty()) {
            complain("there is no command \"" + path + *word + '"',
                     "`berth " + path + "--help` lists them.");
            return true;
        }
        at = found.front();
        path += *word + ' ';
    }
    return false;
}

/// The exit status, where there is nothing to do but what this has printed.
std::optional<int> read_words(CLI::App& app, int argc, const char* const* argv)
{
    const std::vector<std::string> typed(argv + std::min(argc, 1), argv + argc);
    if (complain_of_topic(app, typed)) {
        return usage_status;
    }
    const auto words = without_help(app, typed);
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend())); // as the parser wants it
    } catch (const CLI::Success& help) {                                   // --help is one
        static_cast<void>(help);
        print(app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        const auto wrong = wrong_words(app, words, error);
        complain(wrong.complaint, wrong.advice);
        return usage_status;
    }
    return std::nullopt;
}

} // namespace

std::optional<CommandLine> parse(int argc, const char* const* argv, int& exit_status)
{
    CommandLine line;
    CLI::App app("One MCP tool server that gives every agent session a machine of its own.",
                 "berth");
    app.footer("Without a command: serve. `berth help COMMAND` has a command's flags, `berth serve "
               "--help` has the settings without a flag, "
               "too.");
    const Flags flags(app);
    std::string session;
    auto* session_option = app.add_option("--session", session,
                                          "name of the session; without one it ends with the "
                                          "server [BERTH_SESSION; of serve also "
                                          "CLAUDE_CODE_SESSION_ID]");
    session_option->take_last();
    app.add_option("--config", line.given.config_file, "TOML file of settings [BERTH_CONFIG]")
        ->take_last();
    bool wants_version = false;
    const auto settings = settings_help(app);
    app.add_flag("-V,--version", wants_version, "as the command version");
    const auto commands = add_commands(app, line);
    commands.front().first->footer(settings);
    if (const auto status = read_words(app, argc, argv)) {
        exit_status = *status;
        return std::nullopt;
    }
    for (const auto& [command, name] : commands) {
        if (command->parsed()) {
            line.command = name;
        }
    }
    line.command = wants_version ? "version" : line.command.empty() ? "serve" : line.command;
    line.given.values = flags.values();
    line.given.is_server = line.command == "serve";
    line.given.shows = line.command == "config";
    line.given.only_looks =
        line.command != "serve" && line.command != "call" && line.command != "config";
    if (session_option->count() > 0) {
        line.given.session = session;
    }
    return line;
}

} // namespace berth::server::cli
