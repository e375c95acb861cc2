#include "server/cli/sessions.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/lifecycle.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "server/mcp/error_details.hpp"
#include "server/options/values.hpp"
#include "tools/render.hpp"
#include "tools/session_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::server::cli {
namespace {

using nlohmann::json;

/// Of what a search by name, key and id has found, what may be meant.
std::optional<std::string> meant(const Asked& asked, std::optional<std::string> key)
{
    return asked.by_name_only && key != session::key_hash(asked.id) ? std::nullopt : std::move(key);
}

/// `key` gets that of the session where there is one; else what is to be told.
std::optional<Outcome> no_session(session::SessionManager& sessions, const Asked& asked,
                                  const std::string& command, std::string& key)
{
    const auto unsettled = collect_leftovers(sessions);
    if (auto found = find_key(sessions, asked)) {
        key = std::move(*found);
        return std::nullopt;
    }
    return not_found(asked, unsettled, missing_sentence(asked),
                     asked.over_http ? advice_over_http(sessions, asked.id)
                                     : advice_on_missing(sessions, asked.id, command));
}

/// Where all sessions are shown.
std::string listing(const Asked& asked)
{
    return asked.over_http ? "GET /sessions" : "`berth sessions list`";
}

Outcome no_machine(session::SessionManager& sessions, const std::string& key, const Asked& asked)
{
    const auto name = "session " + one_line(asked.name);
    const auto sight = sessions.show(key);
    if (sight && sight->facts.state == session::to_string(session::State::creating)) {
        auto outcome = nothing_done(asked, ErrorCode::busy,
                                    name + " has no machine that runs yet: it is just being made",
                                    "Try again in some seconds; where it is set up by "
                                    "session.setup that may take longer.");
        (*outcome.data)["retry_after"] = mcp::usual_retry;
        return outcome;
    }
    return nothing_done(asked, ErrorCode::conflict, name + " has no machine that runs",
                        listing(asked) + " shows its state; its next call makes a machine.");
}

constexpr std::chrono::minutes collect_time{10};

std::chrono::seconds age_from(const std::string& text)
{
    constexpr double second = 1000;
    constexpr double most = 3650.0 * 24 * 3600 * second;
    // A bare number would be seconds, where days are as likely to be meant, and it removes homes.
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    const auto age = has_unit ? parse_duration(text) : std::nullopt;
    if (!age || *age < 0 || *age > most || (*age > 0 && *age < second)) {
        throw Error(ErrorCode::invalid_argument,
                    "--homes-older-than \"" + text + "\" is not allowed",
                    "Allowed: 1 s to 3650 d, with the units s, min, h, d, as in 3d; and 0s, which "
                    "means all homes without a machine.");
    }
    return std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::duration<double, std::milli>(*age));
}

/// What this host alone knows of a session whose books cannot be asked; nothing where that is
/// nothing.
std::optional<Outcome> traces(session::SessionManager& sessions, const Asked& asked,
                              const Error& error)
{
    const auto key = meant(asked, sessions.key_of_home(asked.id, asked.name));
    if (!key) {
        return std::nullopt;
    }
    const auto home = sessions.backend().find_home(*key);
    const bool lives = sessions.lives_here(*key);
    return Outcome{.data = boxed({{"session", asked.name},
                                  {"key", *key},
                                  {"state", "unknown"},
                                  {"home", home},
                                  {"machine_here", lives},
                                  {"reason", error.what()},
                                  {"remedy", error.hint()}}),
                   .text =
                       "Session " + one_line(asked.name) +
                       ": the books cannot be asked\nhome on this host: " + visible(home) +
                       "\nmachine: " + (lives ? "lives on this host" : "none lives on this host"),
                   .complaint = error.what(),
                   .remedy = error.hint(),
                   .failure = error.code()};
}

std::string_view word_for(session::ToldMachine machine)
{
    switch (machine) {
    case session::ToldMachine::present:
        return "present";
    case session::ToldMachine::last:
        return "last";
    case session::ToldMachine::next: // that of a server, which this is none
    case session::ToldMachine::unknown:
        break;
    }
    return "unknown";
}

std::string pause_sentence(const protocol::PauseReply& reply)
{
    std::string text = reply.was_paused ? " is paused already" : " is paused";
    if (reply.jobs > 0) {
        text += ", and " + tools::counted(reply.jobs, "job") + " with it";
    }
    return text + "; its next call, or `berth sessions resume`, wakes it";
}

std::string resume_sentence(const protocol::ResumeReply& reply)
{
    return reply.was_paused ? " is awake again, after " +
                                  tools::human_duration(std::chrono::milliseconds(reply.paused_for))
                            : " is awake already";
}

Outcome sight_of(const session::Sight& sight)
{
    const auto& facts = sight.facts;
    const tools::SessionInfo::Machine machine{sight.info, sight.layers};
    const auto clients = sight.info.pause ? sight.info.pause->clients : 0;
    Outcome shown{.data = boxed(tools::session_data(facts, machine, nullptr)),
                  .text = tools::session_text(facts, machine, nullptr),
                  .complaint = {},
                  .remedy = {},
                  .failure = {}};
    shown.data->erase("message");
    shown.data->update(session_json(facts));
    (*shown.data)["settings_of"] = word_for(facts.machine);
    (*shown.data)["clients"] = clients;
    (*shown.data)["trouble"] = sight.trouble;
    if (!facts.home.empty()) {
        shown.text += (sight.elsewhere ? "home on its host: " : "home on this host: ") +
                      visible(facts.home) + "\n";
    }
    if (!facts.remedy.empty()) {
        (*shown.data)["remedy"] = facts.remedy;
        shown.text += "to do: " + visible(facts.remedy) + "\n";
    }
    if (clients > 0) {
        shown.text += "clients: " + tools::counted(clients, "connection") +
                      (clients > 1 ? ", of one server or more\n" : "\n");
    }
    if (!sight.trouble.empty()) {
        shown.text += "its guest does not tell: " + visible(sight.trouble) + "\n";
    }
    return shown;
}

/// What is left for the next time.
std::string told_of_waiting(const session::Collected& collected)
{
    std::string text;
    if (const auto count = collected.busy.size(); count > 0) {
        text += "\n" + tools::counted(count, "session") + (count > 1 ? " were" : " was") +
                " just being made or ended, and left for the next time, in " +
                std::to_string(mcp::usual_retry) + " s: " + one_line(joined(collected.busy));
    }
    if (const auto count = collected.silent.size(); count > 0) {
        text += "\nnot known of " + tools::counted(count, "session") +
                " without a name whether the server lives, which has not been heard of lately: " +
                one_line(joined(collected.silent)) + "; it counts as dead in " +
                tools::human_duration(collected.lapse) + ", and the same command then clears up";
    }
    return text;
}

void tell_collected(const session::Collected& collected)
{
    std::string text = "cleared up after " + tools::counted(collected.cleared, "session") +
                       ", removed " + tools::counted(collected.removed.size(), "home");
    for (const auto& name : collected.removed) {
        text += "\n  " + one_line(name);
    }
    if (collected.strays > 0) {
        text += "\nended " + tools::counted(collected.strays, "machine") +
                " of this installation's that slept, and that no record named";
    }
    if (collected.others > 0) {
        text += "\nleft alone: " + tools::counted(collected.others, "session") +
                " on another backend (--backend)";
    }
    if (!collected.restored.empty()) {
        text += "\nfound " + tools::counted(collected.restored.size(), "session") +
                " that the books had lost, and that they know again: " +
                one_line(joined(collected.restored));
    }
    for (const auto& key : collected.found) {
        text.append("\nfound the home ")
            .append(key)
            .append(", which the books had lost: `berth sessions adopt ")
            .append(key)
            .append(" --session NAME --principal OWNER` takes it, `berth sessions kill ")
            .append(key)
            .append(" --purge` removes it");
    }
    for (const auto& saved : collected.saved) {
        text += "\nsaved of " + one_line(saved.session) + ": " + saved_sentence(saved);
    }
    if (const auto& swept = collected.swept; swept.files > 0) {
        text += "\nremoved from the workspace what killed saves had left: " +
                tools::counted(swept.files, "file") + " (" + tools::human_bytes(swept.bytes) + ')';
    }
    print(text + told_of_waiting(collected));
    for (const auto& why : collected.failed) {
        complain("something stays: " + visible(why));
    }
    if (!collected.in_time) {
        complain("there was no time for the others", "The same command goes on with them.");
    }
}

/// When the same command has more to do: of what others do just then as soon as they may be
/// done. 0: nobody knows of any.
std::int64_t seconds_to_more(const session::Collected& collected)
{
    const std::int64_t others = collected.busy.empty() ? 0 : mcp::usual_retry;
    return std::max<std::int64_t>(others,
                                  std::chrono::ceil<std::chrono::seconds>(collected.lapse).count());
}

} // namespace

std::optional<std::string> find_key(session::SessionManager& sessions, const Asked& asked)
{
    return meant(asked, sessions.find_key(asked.id, asked.name));
}

std::string missing_sentence(const Asked& asked)
{
    // Who gives a key or the id of a sandbox alone says of nobody whose it is.
    return asked.id.session.empty() ? "there is no session \"" + one_line(asked.name) + '"'
                                    : "there is no session \"" + one_line(asked.id.session) +
                                          "\" of " + one_line(asked.id.principal);
}

Outcome nothing_done(const Asked& asked, ErrorCode code, const std::string& reason,
                     const std::string& remedy)
{
    return {.data = boxed({{"session", asked.name},
                           {"code", to_string(code)},
                           {"reason", reason},
                           {"remedy", remedy}}),
            .text = {},
            .complaint = reason,
            .remedy = remedy,
            .failure = code};
}

Outcome not_found(const Asked& asked, const Unsettled& unsettled, const std::string& reason,
                  const std::string& remedy)
{
    if (unsettled.seconds == 0) {
        return nothing_done(asked, ErrorCode::not_found, with_unrestored(reason, unsettled),
                            remedy);
    }
    auto outcome = nothing_done(asked, ErrorCode::busy, unsettled.reason, unsettled.remedy);
    (*outcome.data)["retry_after"] = unsettled.seconds;
    return outcome;
}

Outcome show_session(session::SessionManager& sessions, const Asked& asked)
{
    std::optional<session::Sight> sight;
    try {
        std::string key;
        if (auto none = no_session(sessions, asked, "show", key)) {
            return std::move(*none);
        }
        sight = sessions.show(key);
        if (!sight) { // it went meanwhile
            return nothing_done(asked, ErrorCode::not_found,
                                "session " + one_line(asked.name) + " is not there any more",
                                listing(asked) + " shows those there are.");
        }
    } catch (const Error& error) {
        auto known = error.code() == ErrorCode::sandbox_unavailable ? traces(sessions, asked, error)
                                                                    : std::nullopt;
        if (!known) {
            throw;
        }
        return std::move(*known);
    }
    return sight_of(*sight);
}

Outcome pause_session(session::SessionManager& sessions, const Asked& asked)
{
    std::string key;
    if (auto none = no_session(sessions, asked, "pause", key)) {
        return std::move(*none);
    }
    const auto reply = sessions.pause(key);
    if (!reply) {
        return no_machine(sessions, key, asked);
    }
    return {.data = boxed({{"session", asked.name},
                           {"paused", true},
                           {"was_paused", reply->was_paused},
                           {"jobs", reply->jobs},
                           {"mechanism", reply->mechanism}}),
            .text = "session " + one_line(asked.name) + pause_sentence(*reply),
            .complaint = {},
            .remedy = {},
            .failure = {}};
}

Outcome resume_session(session::SessionManager& sessions, const Asked& asked)
{
    std::string key;
    if (auto none = no_session(sessions, asked, "resume", key)) {
        return std::move(*none);
    }
    const auto reply = sessions.resume(key);
    if (!reply) {
        return no_machine(sessions, key, asked);
    }
    return {.data = boxed({{"session", asked.name},
                           {"paused", false},
                           {"was_paused", reply->was_paused},
                           {"paused_for_ms", reply->paused_for}}),
            .text = "session " + one_line(asked.name) + resume_sentence(*reply),
            .complaint = {},
            .remedy = {},
            .failure = {}};
}

int collect_sessions(session::SessionManager& sessions,
                     const std::optional<std::string>& homes_older_than, bool as_json)
{
    const auto age = homes_older_than ? std::optional(age_from(*homes_older_than)) : std::nullopt;
    const auto collected = sessions.collect_leftovers(Deadline::after(collect_time), {},
                                                      {.old = true, .older_than = age});
    if (as_json) {
        json saved = json::array();
        for (const auto& each : collected.saved) {
            saved.push_back(saved_json(each));
        }
        print_json({{"cleared", collected.cleared},
                    {"strays", collected.strays},
                    {"on_other_backends", collected.others},
                    {"restored", collected.restored},
                    {"found", collected.found},
                    {"saved", std::move(saved)},
                    {"removed", collected.removed},
                    {"swept", {{"files", collected.swept.files}, {"bytes", collected.swept.bytes}}},
                    {"failed", collected.failed},
                    {"busy", collected.busy},
                    {"silent", collected.silent},
                    {"retry_after", seconds_to_more(collected)},
                    {"complete", collected.complete()}});
    } else {
        tell_collected(collected);
    }
    // What others are at is nothing that a timer should report: whoever looks next comes to it.
    return collected.in_time && collected.failed.empty() ? 0 : 1;
}

} // namespace berth::server::cli
