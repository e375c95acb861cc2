#include "server/options/layers.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"
#include "server/options/paths.hpp"
#include "server/options/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace berth::server {
namespace {

std::string shown(const Definition& definition, double value)
{
    return definition.kind == Kind::duration ? format_duration(value)
           : definition.kind == Kind::bytes  ? format_bytes(value)
                                             : format_number(value);
}

std::string range_of(const Definition& definition)
{
    return shown(definition, definition.least) + " to " + shown(definition, definition.most);
}

/// "8GB" is refused, not taken for one of its two meanings.
std::string units_of(const Definition& definition)
{
    return definition.kind == Kind::duration
               ? ".\nUnits: ms, s, min, h, d, as in 90s; without one: seconds"
           : definition.kind == Kind::bytes
               ? ".\nUnits: B, KiB, MiB, GiB, as in 512MiB; without one: bytes"
               : "";
}

/// For people: `"", "home"`.
std::string choices_of(const Definition& definition)
{
    std::string text = "\"";
    for (const char c : definition.choices) {
        text += c == '|' ? "\", \"" : std::string(1, c);
    }
    return text + '"';
}

/// Durations in milliseconds. Nothing for what is none of the kind.
std::optional<double> quantity(const Definition& definition, const RawValue& value)
{
    const auto text = joined(value.items, ",");
    return definition.kind == Kind::duration ? parse_duration(text)
           : definition.kind == Kind::bytes  ? parse_bytes(text)
           : definition.kind == Kind::number ? parse_number(text)
                                             : std::nullopt;
}

/// A lock is on the value, not on how it is written: 60min is 1h.
bool is_same(const Definition& definition, const RawValue& a, const RawValue& b)
{
    if (a.items == b.items) {
        return true;
    }
    if (definition.kind == Kind::boolean) {
        const auto value = parse_boolean(joined(a.items, ","));
        return value && value == parse_boolean(joined(b.items, ","));
    }
    const auto value = quantity(definition, a);
    return value && value == quantity(definition, b);
}

/// Where 0 may be said it is no number but "never", "any" or "not limited": above every maximum,
/// and none itself.
bool is_unlimited(const Definition& definition, double value)
{
    return value == 0 && definition.least == 0;
}

/// Of what may have a password or a secret in it, mistyped or not, nothing is quoted: a refusal
/// goes to logs, and to whoever gave another value.
bool is_quotable(const Definition& definition)
{
    constexpr std::array<std::string_view, 4> unspoken{"env", "filter.secret", "registry",
                                                       "secret"};
    return std::ranges::find(unspoken, definition.key) == unspoken.end();
}

std::string quoted(const Definition& definition, const RawValue& value)
{
    return is_quotable(definition) ? '"' + joined(value.items, ",") + '"'
                                   : "what " + value.origin + " says";
}

/// `where`: the settings file says that it is locked. `whose`: the value that is kept.
[[noreturn]] void refuse_locked(const Definition& definition, const RawValue& value,
                                const RawValue& kept, const std::string& where,
                                const std::string& whose = {})
{
    refuse(definition, value,
           quoted(definition, kept) + whose + ", which the settings file has locked (" + where +
               ')');
}

void check_keys(const std::map<std::string, RawValue>& values)
{
    for (const auto& [key, value] : values) {
        // An empty table says nothing, unless it was to be a profile.
        const bool is_said = !key.ends_with('.') || key.starts_with("profile.");
        if (is_said && find_definition(key) == nullptr) {
            refuse_key(key, value.origin);
        }
    }
}

/// Takes `locked` out of the values of a file: what no flag and no variable may change, each with
/// where it says so.
std::map<std::string, std::string> take_locked(std::map<std::string, RawValue>& from_file)
{
    const auto list = from_file.extract("locked");
    std::map<std::string, std::string> locked;
    if (list.empty()) {
        return locked;
    }
    for (const auto& key : list.mapped().items) {
        if (find_definition(key) == nullptr) {
            refuse_key(key, list.mapped().origin);
        }
        if (!from_file.contains(key)) {
            throw Error(ErrorCode::invalid_argument,
                        "the settings file locks " + key + " (" + list.mapped().origin +
                            ") and does not say what it is",
                        "Give it a value there, outside of the profiles.");
        }
        locked.emplace(key, list.mapped().origin);
    }
    return locked;
}

std::vector<std::string> items(const Definition& definition, std::string_view text)
{
    if (definition.kind == Kind::commands) {
        return split_lines(text);
    }
    return definition.kind == Kind::list ? split_list(text)
                                         : std::vector<std::string>{std::string(text)};
}

/// What a flag or else a variable says of the setting.
std::optional<RawValue> said(const Definition& definition,
                             const std::map<std::string, RawValue>& flags,
                             const Environment& environment)
{
    if (const auto flag = flags.find(std::string(definition.key)); flag != flags.end()) {
        // `--require "$UNSET"` must not require nothing, nor `--tools ""` serve everything.
        if (flag->second.items.empty()) {
            refuse(definition, flag->second, "one or more; without the flag: the default");
        }
        return flag->second;
    }
    const auto variable = variable_of(definition);
    if (const auto value = environment(variable)) {
        return RawValue{.items = items(definition, *value), .origin = "environment " + variable};
    }
    return std::nullopt;
}

} // namespace

std::string settings_file(const std::string& given, const Environment& environment)
{
    if (!given.empty()) {
        return given;
    }
    const auto variable = environment("BERTH_CONFIG");
    return variable && !variable->empty() ? *variable : default_config_file(environment);
}

[[noreturn]] void refuse(const Definition& definition, const RawValue& value,
                         const std::string& allowed)
{
    throw Error(ErrorCode::invalid_argument,
                std::string(definition.key) +
                    (is_quotable(definition) ? " = " + quoted(definition, value) : std::string()) +
                    " (" + value.origin + ") is not allowed",
                "Allowed: " + allowed + '.');
}

std::vector<std::string> settings_files(const std::string& given, const Environment& environment)
{
    const auto variable = environment("BERTH_CONFIG");
    return !given.empty()                   ? std::vector{given}
           : variable && !variable->empty() ? std::vector{*variable}
                                            : default_config_files(environment);
}

RawValues read_settings(const std::string& given, const Environment& environment)
{
    const auto file = settings_file(given, environment);
    return file.empty() ? RawValues() : read_toml(file);
}

Layers::Layers(const RawValues& flags, RawValues from_file, const Environment& environment,
               const RawValues& kept)
{
    const auto value_of = [&](const Definition& definition) {
        const auto found = kept.find(std::string(definition.key));
        return found != kept.end() ? found->second
                                   : pick(definition, flags, environment, from_file);
    };
    const Profiles profiles(take_profiles(from_file));
    locked_ = take_locked(from_file);
    check_keys(from_file);
    const auto& selection = *find_definition("profile");
    const auto selected = value_of(selection);
    if (selected.items.size() != 1) {
        refuse(selection, selected, "one name");
    }
    profile_ = profiles.resolve(selected);
    for (const auto& definition : definitions()) {
        values_[definition.key] = value_of(definition);
    }
    values_["profile"].items = {profile_.name};
    // What nobody uses there costs as what is used.
    if (auto& policy = values_["session.on_disconnect"];
        policy.origin == "default" && choice("backend") == "e2b") {
        policy.items = {"now"};
    }
    from_file_ = std::move(from_file);
}

/// What the profile in force says of the setting; null where it does not, or where the file has
/// locked it: what its operator has written no name of one of berth's own profiles takes away.
const RawValue* Layers::profile_value(const std::string& key, const RawValue* of_file) const
{
    const auto found = profile_.values.find(key);
    if (found == profile_.values.end()) {
        return nullptr;
    }
    const auto lock = locked_.find(key);
    if (lock == locked_.end() || !is_built_in(found->second)) {
        return &found->second;
    }
    const auto& definition = *find_definition(key);
    if (!locking_profile(key).empty() && !is_same(definition, found->second, *of_file)) {
        refuse_locked(definition, found->second, *of_file, lock->second);
    }
    return nullptr;
}

RawValue Layers::pick(const Definition& definition, const std::map<std::string, RawValue>& flags,
                      const Environment& environment,
                      const std::map<std::string, RawValue>& from_file) const
{
    const auto asked = said(definition, flags, environment);
    const std::string key(definition.key);
    const auto of_file = from_file.find(key);
    const auto* const of_profile =
        profile_value(key, of_file == from_file.end() ? nullptr : &of_file->second);
    if (of_profile != nullptr) {
        if (!asked) {
            return *of_profile;
        }
        if (const auto by = locking_profile(key);
            !by.empty() && !is_same(definition, *asked, *of_profile)) {
            refuse(definition, *asked,
                   quoted(definition, *of_profile) + ", which profile " + by + " has locked");
        }
    }
    if (asked) {
        const auto lock = locked_.find(key);
        const auto* const kept = lock == locked_.end()   ? nullptr
                                 : of_profile != nullptr ? of_profile
                                                         : &of_file->second;
        if (kept != nullptr && !is_same(definition, *asked, *kept)) {
            refuse_locked(definition, *asked, *kept, lock->second,
                          of_profile != nullptr ? " of " + kept->origin : std::string());
        }
        return *asked;
    }
    if (of_file != from_file.end()) {
        return of_file->second;
    }
    return {.items = items(definition, definition.fallback), .origin = "default"};
}

bool Layers::is_said_by_profile(std::string_view key) const
{
    const auto found = profile_.values.find(std::string(key));
    return found != profile_.values.end() && found->second.origin == raw(key).origin;
}

bool Layers::is_of_profile(std::string_view key) const
{
    return is_said_by_profile(key) || is_clamped(key);
}

std::optional<double> Layers::beside_profile(std::string_view key) const
{
    const auto& definition = *find_definition(key);
    if (!is_said_by_profile(key)) {
        return raw(key).origin == "default" ? std::nullopt
                                            : std::optional(parsed(definition, raw(key)));
    }
    const auto of_file = from_file_.find(std::string(key));
    return of_file == from_file_.end() ? std::nullopt
                                       : std::optional(parsed(definition, of_file->second));
}

std::string Layers::locked_by(const std::string& key) const
{
    if (const auto profile = locking_profile(key); !profile.empty()) {
        return "profile " + profile;
    }
    const auto found = locked_.find(key);
    return found == locked_.end() ? "" : "the settings file (" + found->second + ')';
}

std::string Layers::locking_profile(const std::string& key) const
{
    const auto found = profile_.locked.find(key);
    return found == profile_.locked.end() ? "" : found->second;
}

std::string Layers::text(std::string_view key) const
{
    return joined(raw(key).items, ",");
}

std::string Layers::choice(std::string_view key) const
{
    const auto& definition = *find_definition(key);
    const auto value = text(key);
    const auto choices = '|' + std::string(definition.choices) + '|';
    if (value.find('|') != std::string::npos ||
        choices.find('|' + value + '|') == std::string::npos) {
        refuse(definition, raw(key), choices_of(definition));
    }
    return value;
}

bool Layers::boolean(std::string_view key) const
{
    const auto value = parse_boolean(text(key));
    if (!value) {
        refuse(*find_definition(key), raw(key), "true or false");
    }
    return *value;
}

double Layers::parsed(const Definition& definition, const RawValue& value) const
{
    const auto number = quantity(definition, value);
    if (!number || *number < definition.least || *number > definition.most) {
        refuse(definition, value, range_of(definition) + units_of(definition));
    }
    return *number;
}

std::optional<RawValue> Layers::maximum(std::string_view key) const
{
    const auto most = profile_.most.find(std::string(key));
    return most == profile_.most.end() ||
                   (locked_.contains(most->first) && is_built_in(most->second))
               ? std::nullopt
               : std::optional(RawValue{.items = most->second.items,
                                        .origin = "the maximum of " + most->second.origin});
}

bool Layers::is_at_maximum(std::string_view key) const
{
    const auto most = maximum(key);
    return most && number(key) == parsed(*find_definition(key), *most);
}

RawValue Layers::deciding(std::string_view key) const
{
    const auto& definition = *find_definition(key);
    const auto most = maximum(key);
    return most && number(key) != parsed(definition, raw(key)) ? *most : raw(key);
}

double Layers::number(std::string_view key) const
{
    const auto& definition = *find_definition(key);
    const double value = parsed(definition, raw(key));
    const auto most = maximum(key);
    if (!most) {
        return value;
    }
    const double limit = parsed(definition, *most);
    return is_unlimited(definition, limit)   ? value
           : is_unlimited(definition, value) ? limit
                                             : std::min(value, limit);
}

void Layers::refuse_fraction(std::string_view key) const
{
    refuse(*find_definition(key), deciding(key),
           range_of(*find_definition(key)) + ", a whole number");
}

std::vector<Setting> Layers::settings() const
{
    std::vector<Setting> all;
    all.reserve(values_.size());
    for (const auto& [key, value] : values_) {
        const auto& definition = *find_definition(key);
        const auto most = profile_.most.find(std::string(key));
        const bool limited =
            most != profile_.most.end() && number(key) != parsed(definition, value);
        all.push_back(
            {std::string(key), shown_text(key),
             value.origin + (limited ? ", at most what " + most->second.origin + " allows" : "")});
    }
    return all;
}

std::string Layers::shown_text(std::string_view key) const
{
    const auto& definition = *find_definition(key);
    const bool measured = definition.kind == Kind::duration || definition.kind == Kind::bytes ||
                          definition.kind == Kind::number;
    return measured ? shown(definition, number(key)) : text(key);
}

} // namespace berth::server
