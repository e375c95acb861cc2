#include "tools/dialect.hpp"

#include "tools/aliases.hpp"
#include "tools/claude/dialect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace berth::tools {
namespace {

using nlohmann::json;

/// Of names and paths; a full stop belongs to a path only when the path goes on behind it.
bool goes_on(std::string_view rest)
{
    const auto is_part = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '/' || c == '"';
    };
    return !rest.empty() &&
           (is_part(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_part(rest[1])));
}

bool begins_word(std::string_view before)
{
    return before.empty() || (before.back() != '.' && !goes_on(before.substr(before.size() - 1)));
}

std::string exchanged(std::string_view text, std::string_view from, std::string_view to,
                      bool whole_words)
{
    std::string result;
    std::size_t done = 0;
    for (auto at = text.find(from); at != text.npos; at = text.find(from, done)) {
        const auto behind = at + from.size();
        const bool word = begins_word(text.substr(0, at)) && !goes_on(text.substr(behind));
        result += text.substr(done, at - done);
        result += word || !whole_words ? to : from;
        done = behind;
    }
    return result.append(text.substr(done));
}

/// Names of arguments that are ordinary words ("path") are names only where a complaint begins.
std::string with_argument_names(const DialectTool& line, std::string text)
{
    for (const auto& argument : line.arguments) {
        if (argument.name == argument.canonical) {
            continue;
        }
        if (argument.canonical.find('_') != argument.canonical.npos) {
            text = exchanged(text, argument.canonical, argument.name, true);
        } else if (text.starts_with(std::string(argument.canonical) + ": ") ||
                   text.starts_with(std::string(argument.canonical) + " is not supported")) {
            text.replace(0, argument.canonical.size(), argument.name);
        }
    }
    return text;
}

/// In this order: phrases are known by berth's names.
std::string with_names(const Entry& tool, const std::string& text)
{
    auto named = in_words_of(tool.dialect, text);
    return tool.line == nullptr ? named : with_argument_names(*tool.line, std::move(named));
}

/// What is wrong with arguments is said in the dialect's names for them already.
json mapped(const Entry& tool, const json& arguments, const Settings& settings)
{
    try {
        return own_arguments(*tool.line, arguments, settings);
    } catch (const Error& error) {
        throw with_facts_of(error, Error(error.code(), in_words_of(tool.dialect, error.what()),
                                         in_words_of(tool.dialect, error.hint())));
    }
}

Error with_names(const Entry& tool, const Error& error)
{
    return with_facts_of(
        error, Error(error.code(), with_names(tool, error.what()), with_names(tool, error.hint())));
}

std::vector<Entry> make_tools(const Dialect& dialect)
{
    std::vector<Entry> tools = all_tools();
    for (auto& tool : tools) {
        tool.dialect = &dialect;
        const auto line = std::find_if(dialect.tools.begin(), dialect.tools.end(),
                                       [&](const auto& each) { return each.tool == tool.name; });
        if (line != dialect.tools.end()) {
            tool.line = &*line;
            tool.name = line->name;
            tool.title = line->title;
            tool.input_schema = line->input_schema;
            tool.bodies = line->bodies;
            tool.describe = line->describe;
        }
    }
    std::sort(tools.begin(), tools.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return tools;
}

} // namespace

const Dialect* find_dialect(std::string_view name)
{
    return name == claude::dialect().name ? &claude::dialect() : nullptr;
}

const std::vector<Entry>& tools_in(const Dialect* dialect)
{
    static const std::vector<Entry> claude_tools = make_tools(claude::dialect());
    return dialect == nullptr ? all_tools() : claude_tools;
}

std::string_view own_name(const Entry& tool)
{
    return tool.line == nullptr ? tool.name : tool.line->tool;
}

std::string in_words_of(const Dialect* dialect, std::string_view text)
{
    std::string result(text);
    if (dialect == nullptr) {
        return result;
    }
    for (const auto& phrase : dialect->phrases) {
        result = exchanged(result, phrase.from, phrase.to, false);
    }
    for (const auto& line : dialect->tools) {
        result = exchanged(result, line.tool, line.name, true);
    }
    return result;
}

json own_arguments(const DialectTool& line, const json& arguments, const Settings& settings)
{
    json given = canonical_arguments(arguments, {}); // a null is "not given"
    json handed_on = json::object();
    for (const auto& argument : line.arguments) {
        const auto found =
            argument.handed_on && given.is_object() ? given.find(argument.name) : given.end();
        if (found != given.end()) {
            handed_on[std::string(argument.canonical)] = std::move(*found);
            given.erase(found);
        }
    }
    json own = line.canonical(given, settings);
    own.update(handed_on);
    return own;
}

Error with_facts_of(const Error& original, Error error)
{
    for (const auto& [key, value] : original.details()) {
        error.with_detail(key, value);
    }
    error.set_retryable(original.retryable()).with_output(original.output());
    return error;
}

Result run_in_dialect(const Entry& tool, Context& context, const json& arguments)
{
    const auto* line = tool.line;
    const json own = line == nullptr ? arguments : mapped(tool, arguments, context.settings);
    try {
        auto result = tool.run(context, own);
        if (line == nullptr) {
            return result;
        }
        line->phrase(arguments, context.settings, result);
        return result;
    } catch (const Error& error) {
        const bool explains = line != nullptr && line->explain != nullptr;
        const auto explained = explains ? line->explain(arguments, error) : std::nullopt;
        throw explained ? *explained : with_names(tool, error);
    }
}

} // namespace berth::tools
