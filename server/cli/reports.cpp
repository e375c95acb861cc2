#include "server/cli/reports.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "server/cli/print.hpp"
#include "server/mcp/era.hpp"
#include "server/mcp/error_details.hpp"
#include "server/version.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace berth::server::cli {
namespace {

using nlohmann::json;

/// The check of a backend's doctor that fails where it could make no machine, though it may well be
/// available: the attempt has shown more than the probe.
constexpr std::string_view creation_check = "create";
/// That of what a sandbox is attacked with, which fails where a layer that is in force did not
/// hold.
constexpr std::string_view attempts_check = "attempts";
/// And that of one whose machines somebody else makes, who is asked by it alone.
constexpr std::string_view service_check = "e2b-api";

/// What helps against this check's failure, told with the last check that it helps against.
std::string remedy_after(const Check& check, const std::vector<Check>& checks)
{
    std::string names;
    const Check* last = nullptr;
    for (const auto& other : checks) {
        if (!other.ok && !other.remedy.empty() && other.remedy == check.remedy) {
            names += (last == nullptr ? "" : ", ") + other.name;
            last = &other;
        }
    }
    if (check.ok || last != &check) {
        return {};
    }
    return (names == check.name ? "remedy: " : "remedy for " + names + ": ") + check.remedy;
}

/// Of those whose guests did not tell how they are; empty: all did.
std::string told_of_silent(const std::vector<session::SessionFacts>& all)
{
    constexpr std::size_t most = 5;
    std::vector<std::string> silent;
    for (const auto& facts : all) {
        if (!facts.silence.empty()) {
            silent.push_back(one_line(facts.session) + " (" + one_line(facts.silence) + ')');
        }
    }
    if (silent.empty()) {
        return {};
    }
    return "\nNot known whether running or paused, since the guest did not tell: " +
           joined_first(silent, most) + '\n';
}

/// Where sandboxes are made elsewhere, whoever makes them has to be reached, and take the key.
sandbox::Availability with_service(const std::vector<Check>& checks,
                                   const sandbox::Availability& availability)
{
    const auto refused = std::find_if(checks.begin(), checks.end(), [](const Check& check) {
        return check.name == service_check && !check.ok;
    });
    return !availability.available || refused == checks.end()
               ? availability
               : sandbox::Availability{
                     .available = false, .reason = refused->detail, .remedy = refused->remedy};
}

/// Lines of a value, broken behind commas where it is longer than a terminal has room for: some
/// settings are lists of dozens. They read as one without what is between them.
std::vector<std::string> lines_of(std::string_view value)
{
    constexpr std::size_t longest = 60;
    std::vector<std::string> lines{{}};
    while (!value.empty()) {
        const auto comma = value.find(',');
        const auto piece = value.substr(0, comma == value.npos ? comma : comma + 1);
        if (!lines.back().empty() && lines.back().size() + piece.size() > longest) {
            lines.emplace_back();
        }
        lines.back() += piece;
        value.remove_prefix(piece.size());
    }
    return lines;
}

/// The keys of sessions of that name, made with another template of the key.
std::vector<std::string> others_of_name(session::SessionManager& sessions,
                                        const session::SessionId& id)
{
    const auto own = session::key_hash(id);
    std::vector<std::string> keys;
    for (auto& named : sessions.names()) {
        if (named.id.session == id.session && named.id.principal == id.principal &&
            named.key != own) {
            keys.push_back(std::move(named.key));
        }
    }
    return keys;
}

/// A list that may lack some.
Outcome incomplete(Outcome outcome, const Unsettled& unsettled)
{
    outcome.complaint = unsettled.reason;
    outcome.remedy = unsettled.remedy;
    outcome.failure = ErrorCode::busy;
    auto told = refusal_data(to_string(*outcome.failure), outcome.complaint, outcome.remedy,
                             static_cast<unsigned>(unsettled.seconds));
    told["sessions"] = std::move(*outcome.data);
    outcome.data = boxed(std::move(told));
    return outcome;
}

} // namespace

json session_json(const session::SessionFacts& facts)
{
    return {{"key", facts.key},
            {"session", facts.session},
            {"principal", facts.principal},
            {"backend", facts.backend},
            {"sandbox_id", facts.sandbox_id},
            {"state", facts.state},
            {"created", facts.created},
            {"last_used", facts.last_used},
            {"lifetime", facts.why},
            {"home", facts.home},
            {"host", facts.host},
            {"trouble", facts.silence}};
}

std::string advice_on_missing(session::SessionManager& sessions, const session::SessionId& id,
                              const std::string& command, const std::string& rest)
{
    std::string commands;
    for (const auto& key : others_of_name(sessions, id)) {
        commands += commands.empty() ? "`berth sessions " : " or `berth sessions ";
        commands += command;
        commands += ' ';
        commands += key;
        commands += rest;
        commands += '`';
    }
    return commands.empty()
               ? "`berth sessions list` shows those there are; --principal names another owner."
               : "One of that name was made with another session.key or --var: " + commands +
                     (command == "kill" ? " ends it." : " reaches it.");
}

std::string advice_over_http(session::SessionManager& sessions, const session::SessionId& id)
{
    const auto keys = others_of_name(sessions, id);
    return keys.empty()
               ? "GET /sessions shows those there are; ?principal=NAME says whose a name is."
               : "One of that name was made with another session.key or var: without "
                 "?principal=, /sessions/" +
                     joined(keys, " or /sessions/") + " reaches it.";
}

std::string with_unrestored(const std::string& reason, const Unsettled& unsettled)
{
    return unsettled.unrestored.empty() ? reason : reason + "; " + unsettled.unrestored;
}

Unsettled collect_leftovers(session::SessionManager& sessions)
{
    // Asked first: what is written again while this looks may be missing from what it has seen.
    const auto settling = sessions.settling();
    // What is asked of a silent control plane about one session takes no longer than all of it may.
    const WaitBound bound({}, Deadline::after(std::chrono::seconds(5)));
    const auto collected = sessions.collect_leftovers(Deadline::after(std::chrono::seconds(2)));
    Unsettled unsettled{.reason =
                            "the registry is new, was restarted or has lost its data a moment ago, "
                            "and servers and hosts write again what they know: which "
                            "sessions there are is not known yet",
                        .unrestored = joined(collected.unrestored, "; ")};
    if (settling) {
        unsettled.seconds =
            std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*settling).count(), 1);
    } else if (!collected.knows_all) {
        unsettled.seconds = mcp::usual_retry;
    }
    if (!settling && !collected.awaited.empty()) {
        unsettled.reason = "of a session that the registry has lost it is not known what it was: " +
                           collected.awaited;
    }
    unsettled.remedy = "The same command knows in " + std::to_string(unsettled.seconds) + " s.";
    return unsettled;
}

int show_config(const Options& options, bool as_json)
{
    if (as_json) {
        json all = json::object();
        for (const auto& setting : options.settings) {
            all[setting.key] = {{"value", setting.value}, {"origin", setting.origin}};
        }
        print_json(all);
        return 0;
    }
    print(config_text(options.settings));
    return 0;
}

std::string config_text(const std::vector<Setting>& settings)
{
    std::vector<std::vector<std::string>> rows;
    for (const auto& setting : settings) {
        auto key = setting.key;
        auto origin = setting.origin;
        // Last, since nothing is padded for it: one path would make every line as long.
        for (auto& line : lines_of(or_dash(setting.value))) {
            rows.push_back({std::exchange(key, {}), std::exchange(origin, {}), std::move(line)});
        }
    }
    return table(std::move(rows));
}

int show_version(bool as_json)
{
    std::vector<std::string_view> revisions{mcp::modern_version};
    revisions.insert(revisions.end(), mcp::legacy_versions.begin(), mcp::legacy_versions.end());
    if (as_json) {
        print_json({{"version", version},
                    {"commit", commit},
                    {"libraries", libraries},
                    {"protocol_revisions", revisions}});
        return 0;
    }
    std::string text = "berth " + std::string(version) + " (" + std::string(commit) + ")\n";
    text += "libraries: " + std::string(libraries) + "\nMCP:";
    for (const auto& revision : revisions) {
        text += ' ';
        text += revision;
    }
    print(text);
    return 0;
}

Outcome list_sessions(session::SessionManager& sessions, const std::optional<std::string>& of)
{
    const auto unsettled = collect_leftovers(sessions);
    auto all = sessions.list_asked();
    std::erase_if(all, [&](const auto& facts) { return of && facts.principal != *of; });
    json list = json::array();
    for (const auto& facts : all) {
        list.push_back(session_json(facts));
    }
    const bool several_hosts =
        std::ranges::any_of(all, [](const auto& facts) { return !facts.host.empty(); });
    std::vector<std::vector<std::string>> rows{
        {"SESSION", "PRINCIPAL", "BACKEND", "STATE", "LAST USED", "SANDBOX"}};
    for (const auto& facts : all) {
        rows.push_back({one_line(facts.session), one_line(facts.principal), or_dash(facts.backend),
                        facts.state, or_dash(facts.last_used), or_dash(facts.sandbox_id)});
    }
    if (several_hosts) {
        rows.front().emplace_back("HOST");
        for (std::size_t i = 0; i < all.size(); ++i) {
            rows[i + 1].push_back(or_dash(one_line(all[i].host)));
        }
    }
    Outcome outcome{.data = boxed(std::move(list)),
                    .text = table(std::move(rows)) + told_of_silent(all),
                    .complaint = {},
                    .remedy = {},
                    .failure = {}};
    if (all.empty()) {
        outcome.text = unsettled.seconds > 0 ? ""
                       : of                  ? "no sessions of " + one_line(*of)
                                             : "no sessions";
    }
    outcome.complaint = unsettled.unrestored;
    return unsettled.seconds > 0 ? incomplete(std::move(outcome), unsettled) : outcome;
}

int show_checks(const std::vector<Check>& checks, const sandbox::Availability& found, bool as_json)
{
    const bool was_made_and_held =
        std::none_of(checks.begin(), checks.end(), [](const Check& check) {
            return (check.name == creation_check || check.name == attempts_check) && !check.ok;
        });
    const auto availability = with_service(checks, found);
    const int status = availability.available && was_made_and_held ? 0 : 1;
    if (as_json) {
        json list = json::array();
        for (const auto& check : checks) {
            list.push_back({{"name", check.name},
                            {"ok", check.ok},
                            {"detail", check.detail},
                            {"remedy", check.remedy}});
        }
        print_json({{"available", availability.available},
                    {"reason", availability.reason},
                    {"remedy", availability.remedy},
                    {"checks", list}});
        return status;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& check : checks) {
        rows.push_back({check.ok ? "ok" : "MISSING", check.name, check.detail});
        if (const auto remedy = remedy_after(check, checks); !remedy.empty()) {
            rows.push_back({"", "", remedy});
        }
    }
    print(table(std::move(rows)));
    if (!availability.available) {
        complain("no sandbox can be made: " + availability.reason, availability.remedy);
    }
    return status;
}

std::string missing_layers(const std::vector<std::string>& required,
                           const std::vector<Check>& checks)
{
    std::string missing;
    for (const auto& layer : required) {
        const auto found = std::find_if(checks.begin(), checks.end(),
                                        [&](const Check& check) { return check.name == layer; });
        if (found != checks.end() && found->ok) {
            continue;
        }
        missing += "\n  " + layer + ": ";
        if (found == checks.end()) {
            missing += "this build has no layer of that name";
        } else {
            missing += found->detail + (found->remedy.empty() ? "" : "; remedy: " + found->remedy);
        }
    }
    return missing;
}

} // namespace berth::server::cli
