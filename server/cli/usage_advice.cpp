#include "server/cli/usage_advice.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <utility>

namespace berth::server::cli {
namespace {

/// What may be typed.
struct Known {
    std::vector<std::string> commands{"help"};
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
            known.commands.push_back(command->get_name());
            rest.emplace_back(command, path + ' ' + command->get_name());
        }
    }
    return known;
}

std::vector<std::string> names_of(const std::map<std::string, std::vector<std::string>>& options)
{
    std::vector<std::string> names;
    names.reserve(options.size());
    for (const auto& [name, commands] : options) {
        names.push_back(name);
    }
    return names;
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
    std::string text = option + " is an option of ";
    text += joined(std::span(commands).first(std::min(commands.size(), shown)));
    return text + (commands.size() > shown ? " and others." : ".");
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

/// Where one of a group's commands had to follow and none did: the word that stands in its place.
std::string word_for_command(const CLI::App& app, const CLI::ParseError& error)
{
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const auto extras = app.remaining(true);
    const bool is_group = !reached(app).first->get_subcommands(nullptr).empty();
    return code == CLI::ExitCodes::RequiredError && is_group && !extras.empty() &&
                   !extras.front().starts_with('-')
               ? extras.front()
               : "";
}

/// Of a command that is not complete.
std::string advice_on_rest(const CLI::App& app, const CLI::ParseError& error)
{
    const auto [at, path] = reached(app);
    std::vector<std::string> names;
    for (const auto* command : at->get_subcommands(nullptr)) {
        names.push_back(command->get_name());
    }
    const auto near = nearest(word_for_command(app, error), names);
    return near.empty() ? "`berth " + path + "--help` lists what may follow" +
                              (names.empty() ? "" : ": ") + joined(names) + "."
                        : "Did you mean " + near + "?";
}

} // namespace

std::string usage_advice(const CLI::App& app, const std::vector<std::string>& words,
                         const CLI::ParseError& error)
{
    const std::string complaint = error.what();
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    if (code == CLI::ExitCodes::RequiredError) {
        return advice_on_rest(app, error);
    }
    const auto [commands, options] = known_to(app);
    for (const auto& word : words) {
        const auto name = word.substr(0, word.find('='));
        const bool is_extra =
            code == CLI::ExitCodes::ExtrasError && complaint.find(name) != std::string::npos;
        if (!is_extra) {
            continue;
        }
        if (const auto known = options.find(name); known != options.end()) {
            const auto path = "berth " + reached(app).second;
            return advice_on_place(name, known->second,
                                   '`' + path.substr(0, path.size() - 1) + '`');
        }
        const auto near = nearest(name, name.starts_with('-') ? names_of(options) : commands);
        if (!near.empty() && near != name) { // a command that stands where none may
            return "Did you mean " + near + "?";
        }
    }
    return "`berth --help` lists commands and flags.";
}

std::string usage_complaint(const CLI::App& app, const std::vector<std::string>& words,
                            const CLI::ParseError& error)
{
    if (const auto word = word_for_command(app, error); !word.empty()) {
        return "there is no command \"" + reached(app).second + word + '"';
    }
    auto extras = app.remaining(true);
    std::string typed;
    for (const auto& word : words) {
        if (const auto extra = std::find(extras.begin(), extras.end(), word);
            extra != extras.end()) {
            typed += ' ' + word;
            extras.erase(extra);
        }
    }
    if (static_cast<CLI::ExitCodes>(error.get_exit_code()) != CLI::ExitCodes::ExtrasError ||
        typed.empty() || !extras.empty()) {
        return error.what();
    }
    return "not expected:" + typed;
}

} // namespace berth::server::cli
