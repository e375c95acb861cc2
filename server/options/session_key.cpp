#include "server/options/session_key.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::server {
namespace {

constexpr std::size_t longest_value = 256;

/// Not of the launcher's choosing.
constexpr std::array<std::string_view, 4> reserved{"global", "principal", "profile", "session"};

bool is_reserved(std::string_view name)
{
    return std::find(reserved.begin(), reserved.end(), name) != reserved.end();
}

bool is_name(std::string_view name)
{
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
    return !name.empty() && letters.find(name.front()) != std::string_view::npos &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
               std::string_view::npos;
}

[[noreturn]] void refuse_variable(const std::string& item, const std::string& origin,
                                  const std::string& why)
{
    throw Error(
        ErrorCode::invalid_argument, "var \"" + item + "\" (" + origin + "): " + why,
        "A variable is NAME=VALUE, e.g. team=red; NAME is of a-z, 0-9 and _, VALUE UTF-8 of "
        "1 to 256 bytes.");
}

[[noreturn]] void refuse_unused(const std::string& name, const std::string& value,
                                const std::string& origin, const std::string& key_origin)
{
    throw Error(
        ErrorCode::invalid_argument,
        "var \"" + name + '=' + value + "\" (" + origin + ") is not used by " + key_origin,
        "Name {" + name +
            "} in session.key (the file, or BERTH_SESSION_KEY), or leave the variable out.");
}

std::map<std::string, std::string> parse_variables(const RawValue& variables)
{
    std::map<std::string, std::string> values;
    for (const auto& item : variables.items) {
        const auto refuse = [&](const std::string& why) {
            refuse_variable(item, variables.origin, why);
        };
        const auto equals = item.find('=');
        const auto name = item.substr(0, equals);
        if (equals == std::string::npos) {
            refuse("it is not NAME=VALUE");
        }
        if (!is_name(name)) {
            refuse(name.empty()
                       ? "the NAME before = is missing"
                       : "the name \"" + name + "\" is not of a-z, 0-9 and _, with a letter first");
        }
        const auto value = item.substr(equals + 1);
        if (value.empty() || value.size() > longest_value || !utf8::is_valid(value)) {
            refuse("its value is not allowed");
        }
        if (is_reserved(name)) {
            refuse("{" + name + "} is berth's own");
        }
        const auto [known, is_new] = values.emplace(name, value);
        if (!is_new && known->second != value) {
            refuse("it is \"" + known->second + "\" already");
        }
    }
    return values;
}

/// With its length, so that whoever may choose a value cannot write another part into it.
void append_coded(std::string& code, char kind, std::string_view text)
{
    code += kind + std::to_string(text.size()) + ':';
    code += text;
}

} // namespace

KeyTemplate::KeyTemplate(const RawValue& key, const RawValue& variables, std::string profile,
                         bool only_looks)
    : values_(parse_variables(variables)), profile_(std::move(profile)), only_looks_(only_looks)
{
    const std::string text = key.items.empty() ? "" : key.items.front();
    origin_ = "session.key = \"" + text + "\" (" + key.origin + ")";
    is_default_ = text == default_key_template;
    parse(text);
    if (const auto name = missing(); !name.empty() && !only_looks_) {
        std::vector<std::string> known(reserved.begin(), reserved.end());
        for (const auto& [variable, value] : values_) {
            known.push_back(variable);
        }
        const auto near = nearest(name, known);
        throw Error(ErrorCode::invalid_argument,
                    origin_ + ": the variable {" + name + "} is not set",
                    (near.empty() ? "" : "Did you mean {" + near + "}? ") + "Set it with --var " +
                        name + "=VALUE or BERTH_VAR.");
    }
    for (const auto& [name, value] : values_) {
        if (!uses(name)) {
            refuse_unused(name, value, variables.origin, origin_);
        }
    }
}

void KeyTemplate::parse(std::string_view text)
{
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorCode::invalid_argument, origin_ + ": " + why,
                    "A template is text with variables in braces, by default " +
                        std::string(default_key_template) + '.');
    };
    while (!text.empty()) {
        const auto brace = text.find_first_of("{}");
        if (brace != 0) {
            parts_.push_back({false, std::string(text.substr(0, brace))});
            text.remove_prefix(std::min(brace, text.size()));
            continue;
        }
        const auto end = text.find('}');
        const auto name = text.substr(1, end == std::string_view::npos ? end : end - 1);
        if (text.front() == '}' || end == std::string_view::npos || !is_name(name)) {
            refuse("a brace is not part of a {variable}");
        }
        parts_.push_back({true, std::string(name)});
        text.remove_prefix(end + 1);
    }
    if (std::none_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.variable; })) {
        refuse("it has no variable; {global} makes one session for everybody");
    }
}

std::string KeyTemplate::missing() const
{
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
        return part.variable && !is_reserved(part.text) && !values_.contains(part.text);
    });
    return found == parts_.end() ? std::string() : found->text;
}

bool KeyTemplate::uses(std::string_view variable) const
{
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return part.variable && part.text == variable; });
}

session::SessionId KeyTemplate::apply(const std::string& principal, const std::string& name) const
{
    if (name.empty() && uses("session")) {
        return {principal, name, {}};
    }
    if (only_looks_ && (!missing().empty() || (principal.empty() && uses("principal")))) {
        return {principal, name, "unset"}; // no template makes that key
    }
    if (principal.empty() && uses("principal")) {
        // A launcher whose own variable is empty would else have all its users in one machine.
        throw Error(
            ErrorCode::invalid_argument, origin_ + ": {principal} is not set",
            "Name one with --principal (BERTH_PRINCIPAL), or leave the session's name out.");
    }
    if (is_default_) {
        return {principal, name, {}};
    }
    auto values = values_;
    values["global"] = "global";
    values["principal"] = principal;
    values["profile"] = profile_;
    values["session"] = name;
    session::SessionId id{principal, {}, {}};
    std::string readable;
    for (const auto& part : parts_) {
        const auto& text = part.variable ? values.at(part.text) : part.text;
        append_coded(id.key, part.variable ? 'v' : 't', text);
        readable += text;
    }
    id.session = name.empty() ? readable : name;
    return id;
}

} // namespace berth::server
