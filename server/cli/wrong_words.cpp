#include "server/cli/wrong_words.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"
#include "server/options/definitions.hpp"
#include "tools/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace berth::server::cli {
namespace {

/// What may be typed.
struct Known {
    /// Of each name the command: "list": "berth sessions list".
    std::vector<std::pair<std::string, std::string>> commands{{"help", "berth help"}};
    std::map<std::string, std::vector<std::string>>
        options; ///< "--json": the commands that take it
};

Known known_to(const CLI::App& app)
{
    Known known;
    std::deque<std::pair<const CLI::App*, std::string>> rest{{&app, "berth"}};
    for (; !rest.empty(); rest.pop_front()) {
        const auto [at, path] = rest.front();
        for (const auto* option : at->get_options()) {
            for (const auto& name : option->get_lnames()) {
                known.options["--" + name].push_back('`' + path + '`');
            }
        }
        for (const auto* command : at->get_subcommands(nullptr)) {
            const auto inner = path + ' ' + command->get_name();
            known.commands.emplace_back(command->get_name(), inner);
            rest.emplace_back(command, inner);
        }
    }
    return known;
}

bool is_flag(std::string_view word)
{
    return word.size() > 1 && word.starts_with('-');
}

std::string without_value(const std::string& flag)
{
    return flag.substr(0, flag.find('='));
}

/// The command that the parser has come to, and the words to it, each with a blank after it.
std::pair<const CLI::App*, std::string> reached(const CLI::App& app)
{
    std::pair<const CLI::App*, std::string> at{&app, ""};
    for (auto found = app.get_subcommands(); !found.empty(); found = at.first->get_subcommands()) {
        at = {found.front(), at.second + found.front()->get_name() + ' '};
    }
    return at;
}

/// Words of other programs, and what does that here.
struct OtherWord {
    std::string_view word;
    std::string_view advice;
};

constexpr std::string_view to_call =
    "`berth call bash_exec '{\"command\": \"ls\"}'` runs a command.";
constexpr std::string_view to_stop =
    "Did you mean `berth sessions pause` or `berth sessions kill`?";
constexpr std::string_view to_remove = "Did you mean `berth sessions kill`?";
constexpr std::array other_words{
    OtherWord{"exec", to_call},
    OtherWord{"run", to_call},
    OtherWord{"bash", to_call},
    OtherWord{"shell", to_call},
    OtherWord{"stop", to_stop},
    OtherWord{"end", to_remove},
    OtherWord{"rm", to_remove},
    OtherWord{"remove", to_remove},
    OtherWord{"delete", to_remove},
    OtherWord{"ps", "Did you mean `berth sessions list`?"},
    OtherWord{"ls", "Did you mean `berth sessions list`?"},
};

/// Of a word that stands where a command's name may; empty when it is near none.
std::string advice_on_command(const CLI::App& app, const Known& known, const std::string& word)
{
    const auto* const other = std::ranges::find(other_words, word, &OtherWord::word);
    if (other != other_words.end()) {
        return std::string(other->advice);
    }
    for (const auto& tool : tools::all_tools()) {
        if (tool.name == word) {
            return "Did you mean `berth call " + word + "`?";
        }
    }
    const auto here = "berth " + reached(app).second;
    std::vector<std::string> names;
    for (const auto& [name, path] : known.commands) {
        // At the top of the program those of its groups may be meant, too.
        if (path == here + name || reached(app).second.empty()) {
            names.push_back(name);
        }
    }
    const auto near = nearest(word, names);
    const auto found =
        std::ranges::find(known.commands, near, [](const auto& each) { return each.first; });
    if (near.empty()) {
        return {};
    }
    return "Did you mean " + (found->second == here + near ? near : '`' + found->second + '`') +
           '?';
}

/// Of an option that there is, for another command or in front of this one. `typed`: it, as in
/// `commands`.
std::string advice_on_place(const std::string& option, const std::vector<std::string>& commands,
                            const std::string& typed)
{
    if (std::find(commands.begin(), commands.end(), typed) != commands.end()) {
        return option + " belongs behind " + typed + '.';
    }
    constexpr std::size_t shown = 3;
    return option + " is an option of " +
           joined(std::span(commands).first(std::min(commands.size(), shown))) +
           (commands.size() > shown ? " and others." : ".");
}

/// Empty when it is near none.
std::string advice_on_flag(const CLI::App& app, const Known& known, const std::string& flag)
{
    const auto path = reached(app).second;
    if (const auto found = known.options.find(flag); found != known.options.end()) {
        const auto typed = "berth " + path;
        return advice_on_place(flag, found->second, '`' + typed.substr(0, typed.size() - 1) + '`');
    }
    if (flag == "--all" && path.starts_with("sessions ")) {
        return "There is no --all: give them one by one; `berth sessions list` has their names.";
    }
    std::vector<std::string> names;
    names.reserve(known.options.size());
    for (const auto& [name, commands] : known.options) {
        names.push_back(name);
    }
    for (const auto& definition : definitions()) {
        if (!definition.has_flag) {
            names.push_back(flag_of(definition));
        }
    }
    const auto near = nearest(flag, names);
    if (near.empty() || known.options.contains(near)) {
        return near.empty() ? "" : "Did you mean " + near + '?';
    }
    const auto setting = std::ranges::find(definitions(), near, &flag_of);
    const std::string key(setting->key);
    return key + " has no flag: set " + variable_of(*setting) + ", or " + key + " in the file.";
}

/// The words that the parser has not taken, in the order in which they were typed; empty where it
/// has changed one. Behind a flag that it does not know all others may have slipped into another's
/// place (a value into that of the tool, the tool into that of its arguments): only those are named
/// that stand with it.
std::vector<std::string> unexpected(const CLI::App& app, const std::vector<std::string>& words)
{
    auto extras = app.remaining(true);
    std::vector<std::string> named;
    bool slipped = false;
    bool beside = false;
    for (const auto& word : words) {
        const auto extra = std::find(extras.begin(), extras.end(), word);
        if (extra == extras.end()) {
            beside = false;
            continue;
        }
        extras.erase(extra);
        if (is_flag(word) || beside || !slipped) {
            named.push_back(word);
            beside = true;
        }
        slipped = slipped || is_flag(word);
    }
    return extras.empty() ? named : std::vector<std::string>();
}

std::string listed(const CLI::App& app)
{
    const auto [at, path] = reached(app);
    const auto names = joined(at->get_subcommands(nullptr), ", ", &CLI::App::get_name);
    return "`berth " + path + "--help` lists what may follow" +
           (names.empty() ? names : ": " + names) + '.';
}

/// What the command that the parser has come to takes beside flags, and where those are listed.
std::string advice_on_words(const CLI::App& app)
{
    const auto [at, path] = reached(app);
    if (path.empty()) {
        return "`berth --help` lists commands and flags.";
    }
    std::string names;
    for (const auto* option : at->get_options()) {
        if (option->get_positional()) {
            names += (names.empty() ? "" : " and ") + option->get_name(true);
        }
    }
    const auto command = "berth " + path;
    return '`' + command.substr(0, command.size() - 1) + "` takes " +
           (names.empty() ? "nothing but flags" : names + " and flags") + "; `" + command +
           "--help` lists them.";
}

WrongWords of_unexpected(const CLI::App& app, const Known& known,
                         const std::vector<std::string>& named)
{
    std::string typed;
    std::string advice;
    for (const auto& word : named) {
        typed += ' ' + word;
        if (advice.empty()) {
            advice = is_flag(word) ? advice_on_flag(app, known, without_value(word))
                     : app.get_subcommands().empty() ? advice_on_command(app, known, word)
                                                     : "";
        }
    }
    return {"not expected:" + typed, advice.empty() ? advice_on_words(app) : advice};
}

/// A word that must be there is not: perhaps for another one that is wrong.
WrongWords of_missing(const CLI::App& app, const Known& known,
                      const std::vector<std::string>& named, const std::string& said)
{
    const bool is_group = !reached(app).first->get_subcommands(nullptr).empty();
    if (is_group && !named.empty() && !is_flag(named.front())) {
        const auto advice = advice_on_command(app, known, named.front());
        return {"there is no command \"" + reached(app).second + named.front() + '"',
                advice.empty() ? listed(app) : advice};
    }
    const auto unknown = std::ranges::find_if(named, [&](const std::string& word) {
        return is_flag(word) && !known.options.contains(without_value(word));
    });
    if (unknown != named.end()) {
        return of_unexpected(app, known, {*unknown});
    }
    return {said, listed(app)};
}

} // namespace

WrongWords wrong_words(const CLI::App& app, const std::vector<std::string>& words,
                       const CLI::ParseError& error)
{
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const auto known = known_to(app);
    const auto named = unexpected(app, words);
    if (code == CLI::ExitCodes::RequiredError) {
        return of_missing(app, known, named, error.what());
    }
    if (code == CLI::ExitCodes::ExtrasError && !named.empty()) {
        return of_unexpected(app, known, named);
    }
    return {error.what(), "`berth --help` lists commands and flags."};
}

} // namespace berth::server::cli
