#include "server/options/profiles.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"
#include "server/options/definitions.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::server {
namespace {

constexpr std::string_view prefix = "profiles.";

struct BuiltIn {
    std::string_view profile;
    std::string_view key;
    std::string_view value;
    bool locked = false;
};

/// Those of LangBot's Box, with its values; its network is off or on.
constexpr std::array built_in{
    BuiltIn{"langbot-default", "network", "none"},
    BuiltIn{"langbot-default", "local.cpus", "1"},
    BuiltIn{"langbot-default", "local.memory", "512MiB"},
    BuiltIn{"langbot-default", "local.pids", "128"},
    BuiltIn{"langbot-default", "exec.timeout", "30s"},
    BuiltIn{"offline-readonly", "network", "none", true},
    BuiltIn{"offline-readonly", "mount_mode", "ro", true},
    BuiltIn{"offline-readonly", "local.cpus", "0.5"},
    BuiltIn{"offline-readonly", "local.memory", "256MiB"},
    BuiltIn{"offline-readonly", "local.pids", "64"},
    BuiltIn{"offline-readonly", "exec.timeout", "30s"},
    BuiltIn{"network-basic", "network", "host"},
    BuiltIn{"network-basic", "local.cpus", "1"},
    BuiltIn{"network-basic", "local.memory", "512MiB"},
    BuiltIn{"network-basic", "local.pids", "128"},
    BuiltIn{"network-basic", "exec.timeout", "30s"},
    BuiltIn{"network-extended", "network", "host"},
    BuiltIn{"network-extended", "local.cpus", "2"},
    BuiltIn{"network-extended", "local.memory", "1GiB"},
    BuiltIn{"network-extended", "local.pids", "256"},
    BuiltIn{"network-extended", "exec.timeout", "30s"},
};

struct BuiltInMost {
    std::string_view profile;
    std::string_view most;
};

/// What LangBot's Box cuts whatever is asked for to, by a call or beside the profile. Of
/// processors, memory and processes it takes what it is told instead of the profile's, and has no
/// maximum.
constexpr std::array built_in_most{
    BuiltInMost{"langbot-default", "120s"},
    BuiltInMost{"offline-readonly", "60s"},
    BuiltInMost{"network-basic", "120s"},
    BuiltInMost{"network-extended", "300s"},
};

constexpr std::array<std::string_view, 4> timeouts{"exec.timeout", "exec.max_timeout",
                                                   "job.timeout", "job.max_timeout"};

/// Who owns what, where it is, and what a person reads: not of one kind of session.
constexpr std::array<std::string_view, 31> foreign{
    "allowed_mount_roots",
    "audit_command",
    "audit_log",
    "behind_proxy",
    "http",
    "http_connections",
    "http_hosts",
    "http_idle",
    "http_metrics",
    "http_origins",
    "insecure_no_auth",
    "jwt_audience",
    "jwt_issuer",
    "jwt_keys",
    "jwt_principal",
    "log.format",
    "log.level",
    "operator_token_file",
    "principal",
    "profile",
    "registry",
    "session.host",
    "session.key",
    "session.max",
    "session.max_per_principal",
    "state_dir",
    "token_file",
    "unix",
    "unix_mode",
    "var",
    "workspace",
};

bool is_measured(const Definition& definition)
{
    return definition.kind == Kind::duration || definition.kind == Kind::bytes ||
           definition.kind == Kind::number;
}

std::string normalised(std::string name)
{
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

bool is_built_in(std::string_view name)
{
    return name == "default" ||
           std::any_of(built_in.begin(), built_in.end(),
                       [&](const BuiltIn& each) { return each.profile == name; });
}

const Definition& require_key(const std::string& key, const std::string& origin)
{
    const auto* const definition = find_definition(key);
    if (definition == nullptr) {
        refuse_key(key, origin);
    }
    if (!is_of_profiles(key)) {
        throw Error(ErrorCode::invalid_argument,
                    key + " (" + origin + ") is not a profile's to say",
                    "Say it outside of the profiles, or as a flag or variable.");
    }
    return *definition;
}

/// Of what nobody has written.
std::string origin_of(std::string_view profile)
{
    return "profile " + std::string(profile);
}

[[noreturn]] void refuse_lock(const std::string& profile, const std::string& key,
                              const std::string& origin)
{
    throw Error(ErrorCode::invalid_argument,
                "profile " + profile + " locks " + key + " (" + origin +
                    ") and does not say what it is",
                "Give it a value in [profiles." + profile + "].");
}

} // namespace

bool is_of_profiles(std::string_view key)
{
    return std::find(foreign.begin(), foreign.end(), key) == foreign.end();
}

void refuse_key(const std::string& key, const std::string& origin)
{
    std::vector<std::string> names;
    for (const auto& definition : definitions()) {
        names.emplace_back(definition.key);
    }
    const auto near = nearest(key, names);
    constexpr std::string_view slip = "profile.";
    if (key.starts_with(slip)) {
        const auto name = key.substr(slip.size());
        if (name.find('.') == std::string::npos) { // a setting of that table, or none
            throw Error(ErrorCode::invalid_argument,
                        "[profile] is no table (" + origin + "): profile is a name",
                        "Write profile = \"NAME\"; what it says is in [profiles.NAME].");
        }
        throw Error(ErrorCode::invalid_argument,
                    "unknown setting \"" + key.substr(0, key.find_last_not_of('.') + 1) + "\" (" +
                        origin + ")",
                    "Did you mean [profiles." + name.substr(0, name.find('.')) + "]?");
    }
    throw Error(ErrorCode::invalid_argument, "unknown setting \"" + key + "\" (" + origin + ")",
                key == "session" || key == "session.name" || key == "session.session"
                    ? "The session is not for the file: give --session or "
                      "BERTH_SESSION."
                : near.empty() ? "`berth serve --help` lists every setting."
                               : "Did you mean " + near + "?");
}

bool is_built_in(const RawValue& value)
{
    return std::any_of(built_in.begin(), built_in.end(), [&](const BuiltIn& each) {
        return value.origin == origin_of(each.profile);
    });
}

std::map<std::string, RawValue> take_profiles(std::map<std::string, RawValue>& from_file)
{
    std::map<std::string, RawValue> taken;
    for (auto value = from_file.begin(); value != from_file.end();) {
        if (value->first.starts_with(prefix) && value->first != prefix) {
            taken.emplace(value->first.substr(prefix.size()), std::move(value->second));
            value = from_file.erase(value);
        } else {
            ++value;
        }
    }
    return taken;
}

Profiles::Profiles(const std::map<std::string, RawValue>& values)
{
    profiles_["default"].name = "default";
    for (const auto& each : built_in) {
        auto& profile = profiles_[std::string(each.profile)];
        profile.name = each.profile;
        profile.values[std::string(each.key)] = {.items = {std::string(each.value)},
                                                 .origin = origin_of(each.profile)};
        if (each.locked) {
            profile.locked.emplace(each.key, profile.name);
        }
    }
    for (const auto& [name, most] : built_in_most) {
        auto& profile = profiles_.find(name)->second;
        const RawValue longest{.items = {std::string(most)}, .origin = origin_of(name)};
        for (const auto key : timeouts) { // of jobs too: no command of its agents runs for longer
            profile.most[std::string(key)] = longest;
            if (key.ends_with(".max_timeout")) { // also where a profile that extends it allows more
                profile.values[std::string(key)] = longest;
            }
        }
    }
    for (const auto& [path, value] : values) {
        add(path, value);
    }
    check();
}

/// `written`: the name as the settings file has it.
Profiles::Written& Profiles::named(const std::string& name, const std::string& written,
                                   const std::string& origin)
{
    auto& profile = profiles_[name];
    if (!profile.written.empty() && profile.written != written) {
        throw Error(ErrorCode::invalid_argument,
                    "profiles." + written + " (" + origin + ") and profiles." + profile.written +
                        " are one name: in names `_` is `-`",
                    "Write both tables with the same name, or give one another.");
    }
    profile.name = name;
    profile.written = written;
    return profile;
}

/// `path`: "NAME.key".
void Profiles::add(const std::string& path, const RawValue& value)
{
    const auto dot = path.find('.');
    const auto name = normalised(path.substr(0, dot));
    if (dot == std::string::npos) {
        throw Error(ErrorCode::invalid_argument,
                    "profiles." + path + " (" + value.origin + ") is no table",
                    "A profile is [profiles.NAME], with settings below it.");
    }
    if (is_built_in(name)) {
        throw Error(ErrorCode::invalid_argument,
                    "profiles." + name + " (" + value.origin +
                        "): berth has a profile of that name",
                    "Take another name, and extends = \"" + name + "\" for its settings.");
    }
    auto& profile = named(name, path.substr(0, dot), value.origin);
    const auto key = path.substr(dot + 1);
    if (key.empty() || key.ends_with('.')) {
        return; // a table that has nothing in it
    }
    const auto of_profile = [&] {
        return RawValue{.items = value.items, .origin = "profile " + name + ", " + value.origin};
    };
    if (key == "extends") {
        if (value.items.size() != 1) {
            throw Error(ErrorCode::invalid_argument,
                        "profiles." + path + " (" + value.origin + ") is not one name",
                        "A profile extends one other; that one may extend a third.");
        }
        profile.extends = value;
    } else if (key == "locked") {
        for (const auto& item : value.items) {
            require_key(item, value.origin);
            profile.locked.emplace(item, name);
            profile.lock_origins.emplace(item, value.origin);
        }
    } else if (key.starts_with("max.")) {
        const auto of = key.substr(4);
        if (!is_measured(require_key(of, value.origin))) {
            throw Error(ErrorCode::invalid_argument,
                        "profiles." + path + " (" + value.origin + "): " + of + " is no quantity",
                        "Only durations, sizes and numbers have a maximum; `locked` fixes others.");
        }
        profile.most[of] = of_profile();
    } else {
        require_key(key, value.origin);
        profile.values[key] = of_profile();
    }
}

/// Also of the profiles that nobody uses now: a mistake is told when it is made.
void Profiles::check() const
{
    for (const auto& [name, profile] : profiles_) {
        const auto whole = resolve({.items = {name}, .origin = "profiles." + name});
        for (const auto& [key, by] : profile.locked) {
            if (!whole.values.contains(key)) {
                refuse_lock(name, key, profile.lock_origins.at(key));
            }
        }
    }
}

std::string Profiles::names() const
{
    return joined(profiles_, ", ", [](const auto& each) { return each.first; });
}

Profile Profiles::resolve(const RawValue& name) const
{
    Profile result;
    std::set<std::string> seen;
    RawValue next = name;
    while (!next.items.empty()) {
        const auto wanted = normalised(next.items.front());
        const auto found = profiles_.find(wanted);
        if (found == profiles_.end()) {
            throw Error(ErrorCode::invalid_argument,
                        "there is no profile \"" + wanted + "\" (" + next.origin + ")",
                        "There are " + names() + "; [profiles.NAME] in the file makes another.");
        }
        if (!seen.insert(wanted).second) {
            throw Error(ErrorCode::invalid_argument,
                        "profile " + wanted + " (" + next.origin + ") extends itself",
                        "A profile extends one other, and that one not it.");
        }
        const auto& profile = found->second;
        if (result.name.empty()) {
            result.name = wanted;
        }
        // What the nearer one says itself holds.
        result.values.insert(profile.values.begin(), profile.values.end());
        result.most.insert(profile.most.begin(), profile.most.end());
        result.locked.insert(profile.locked.begin(), profile.locked.end());
        next = profile.extends;
    }
    return result;
}

} // namespace berth::server
