#include "sandbox/session/fact_finder.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/machine_reach.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/retention.hpp"
#include "sandbox/session/side_by_side.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>

namespace berth::session {
namespace {

/// Of a guest that is stuck the books tell enough.
constexpr std::chrono::seconds look_time{1};
/// Of one whose own client wants to know.
constexpr std::chrono::seconds own_look_time{4};
constexpr std::chrono::seconds look_time_of_all{10};
constexpr const char* not_asked = "not asked: others took too long to answer";

std::string duration_text(std::chrono::seconds duration)
{
    const auto count = duration.count();
    constexpr std::int64_t hour = 3600;
    constexpr std::int64_t day = 24 * hour;
    return count % day == 0    ? std::to_string(count / day) + " d"
           : count % hour == 0 ? std::to_string(count / hour) + " h"
                               : std::to_string(count) + " s";
}

std::string for_how_long(std::optional<std::chrono::seconds> retention)
{
    return retention ? " for " + duration_text(*retention) + " more" : "";
}

/// How long the home of a session without a machine stays; empty for others.
std::string home_sentence(const Settings& settings, const Record& record)
{
    if (!has_no_machine(record) || MachineKeeper::only_waits(record)) {
        return {};
    }
    if (record.purging) {
        return "; the deletion of its files was begun, and `berth sessions kill " +
               visible(record.id.session) + " --purge` goes on with it";
    }
    const auto until = kept_until(settings, record);
    auto text =
        until ? "; its home is kept until " + rfc3339(*until) : std::string("; its home is kept");
    if (owes_files(record)) {
        text += ", and until what session.save_on_end names is saved";
        text += record.saving.trouble.empty()
                    ? ""
                    : " (not done at the last attempt: " + visible(record.saving.trouble) + ')';
    }
    return text;
}

/// The books may be behind: a server that only is there and a job that runs are use, and are noted
/// there by nobody.
std::string soonest_end(std::chrono::system_clock::time_point by_the_books)
{
    return by_the_books > std::chrono::system_clock::now()
               ? ", at " + rfc3339(by_the_books) + " or later"
               : "";
}

void take_conditions(SessionFacts& facts, ToldMachine machine, const Conditions& conditions)
{
    facts.machine = machine;
    facts.limits = conditions.limits;
    facts.network = conditions.network;
    facts.filter = conditions.filter;
    facts.template_name = conditions.template_name;
    facts.mounts = conditions.mounts;
    facts.on_disconnect = conditions.on_disconnect;
}

/// Where a machine ends when it is left, nothing else that would end it comes first.
std::string end_at_leaving(std::optional<std::chrono::seconds> retention)
{
    return "it ends, with all that runs in it, when its last server leaves "
           "(session.on_disconnect = kill); its home is kept" +
           for_how_long(retention);
}

/// What comes before its end.
std::string sleep_at_leaving(protocol::OnDisconnect on_disconnect)
{
    return on_disconnect == protocol::OnDisconnect::now
               ? "it is paused, with its jobs, when its last server leaves "
                 "(session.on_disconnect = now); "
               : "";
}

} // namespace

FactFinder::FactFinder(const Settings& settings, sandbox::Backend& backend, Registry& registry,
                       const MachineKeeper& keeper)
    : settings_(settings), backend_(backend), registry_(registry), keeper_(keeper)
{
}

/// A machine whose record is not where it was, as where the state directory was moved. One that
/// cannot be asked counts. Books that are shared are written anew by who knows more.
bool FactFinder::is_still_there(const Record& record) const
{
    if (record.state != State::running || registry_.is_shared() || !backend_.is_bound_to_host()) {
        return false;
    }
    try {
        return backend_.attach(record.machine) != nullptr;
    } catch (const std::exception&) {
        return true;
    }
}

/// When a machine that runs ends, and what of it stays.
std::string FactFinder::end_sentence(const Record& record, const Conditions& in_force) const
{
    const auto retention = retention_of(settings_, record);
    if (backend_.ends_machines()) {
        return "it ends after " + duration_text(in_force.ttl) + " without use" +
               soonest_end(record.last_used + in_force.ttl) +
               " (a connected server or a running job is use); its home is kept" +
               for_how_long(retention);
    }
    const auto idle = in_force.idle_pause;
    const std::string sleeps =
        "it sleeps, with all that is in it, after " +
        (idle.count() > 0 ? duration_text(std::chrono::ceil<std::chrono::seconds>(idle))
                          : std::string("an hour")) +
        " without use (a running job is use), or some minutes later where no server is left";
    return retention ? sleeps + ", and ends with its files after " +
                           duration_text(in_force.ttl + *retention) + " without use"
                     : sleeps;
}

/// Of a machine that is lost, where that is its home as well.
bool FactFinder::is_home_gone(const Record& record) const
{
    if (backend_.is_bound_to_host() || record.state != State::lost ||
        is_on_another(record, backend_.name())) {
        return false;
    }
    try {
        return backend_.is_gone(record.machine);
    } catch (const std::exception&) {
        return false; // nobody knows
    }
}

/// As it is found here; another host's as the books have it.
std::string FactFinder::home_of(const Record& record) const
{
    const auto& data = record.machine.data;
    const auto noted = data.find("home");
    const auto key = data.find("key_hash");
    if (noted == data.end() || key == data.end() || !keeper_.is_ours(record)) {
        return noted == data.end() ? std::string() : noted->second;
    }
    return backend_.find_home(key->second);
}

FactFinder::Look FactFinder::look_at(Record of) const
{
    Look look{.facts = {}, .record = std::move(of), .found = {}};
    Record& record = look.record;
    SessionFacts& facts = look.facts;
    look.found = keeper_.check(record);
    facts.session = record.id.session;
    facts.principal = record.id.principal;
    facts.backend = record.machine.backend;
    facts.sandbox_id = record.machine.id;
    facts.state = to_string(record.state);
    facts.created = rfc3339(record.created);
    facts.last_used = rfc3339(record.last_used);
    facts.home = home_of(record);
    facts.host = record.place ? record.place->host : "";
    facts.why = std::string(record.why) + (is_home_gone(record) ? "; its files were in it"
                                                                : home_sentence(settings_, record));
    const bool running = record.state == State::running;
    const Conditions& usual = settings_;
    const Conditions& in_force = running && record.made_with ? *record.made_with : usual;
    if (is_on_another(record, backend_.name())) {
        facts.silence = "it is on the backend " + record.machine.backend +
                        ", which is asked with --backend " + record.machine.backend;
        facts.why = facts.silence;
    } else if (running) {
        facts.why = record.unnamed ? "it ends, with its files, when its server stops"
                    : in_force.on_disconnect == protocol::OnDisconnect::kill
                        ? end_at_leaving(retention_of(settings_, record))
                        : sleep_at_leaving(in_force.on_disconnect) + end_sentence(record, in_force);
    }
    if (is_elsewhere(settings_.place, record)) {
        if (running) {
            facts.silence = "it is on the host " + visible(record.place->host) +
                            ", where `berth sessions list` tells, also whether it has ended";
        }
        facts.why += " (on the host " + visible(record.place->host) + ", as the books have it)";
    }
    if (record.made_with && record.epoch != 0) { // else no machine was ready with them
        take_conditions(facts, has_no_machine(record) ? ToldMachine::last : ToldMachine::present,
                        *record.made_with);
    }
    if (record.unnamed) {
        facts.on_disconnect.reset();
    }
    facts.is_next = running && facts.backend == backend_.name() &&
                    !is_elsewhere(settings_.place, record) && !need_another(settings_, in_force);
    return look;
}

SessionFacts FactFinder::of(const SessionId& id, const std::string& key,
                            const std::optional<Record>& remembered) const
{
    return own_look(id, key, remembered).facts;
}

Sight FactFinder::own_sight(const SessionId& id, const std::string& key,
                            const std::optional<Record>& remembered,
                            const std::shared_ptr<sandbox::Sandbox>& held) const
{
    return ask_guest(own_look(id, key, remembered), own_look_time, held, /*shown=*/true);
}

FactFinder::Look FactFinder::own_look(const SessionId& id, const std::string& key,
                                      const std::optional<Record>& remembered) const
{
    std::optional<Record> record;
    std::string trouble;
    try {
        record = registry_.find(key);
    } catch (const Error& error) {
        if (!remembered || error.code() != ErrorCode::sandbox_unavailable) {
            throw;
        }
        record = remembered;
        trouble = error.what();
    }
    if (!record && remembered && is_still_there(*remembered)) {
        record = remembered;
        trouble = "it has no record of this one, whose sandbox lives: was the state directory " +
                  settings_.state_directory + " moved or removed?";
    }
    Look look;
    auto& facts = look.facts;
    if (record) {
        look = look_at(std::move(*record));
        facts.trouble = std::move(trouble);
        if (facts.state != to_string(State::running) || facts.machine == ToldMachine::unknown) {
            take_conditions(facts, ToldMachine::next, settings_);
        }
    } else {
        facts.principal = id.principal;
        facts.backend = backend_.name();
        facts.state = to_string(State::absent);
        facts.why = remembered ? "its sandbox has ended, and the session was deleted with its "
                                 "files, or its home was given to another one"
                               : "no call has needed a sandbox yet";
        take_conditions(facts, ToldMachine::next, settings_);
        if (registry_.settling()) {
            facts.why = "whether it has a sandbox is not known yet";
            facts.trouble = "it was restarted a moment ago, and is told again what it has lost";
        }
    }
    facts.session = id.session; // not the one that was made up for an unnamed session
    if (id.session.empty()) {
        facts.on_disconnect.reset();
    }
    return look;
}

FactFinder::Look FactFinder::look_at_key(const std::string& key) const
{
    Look look;
    try {
        if (auto record = registry_.find(key)) {
            look = look_at(std::move(*record));
        }
        if (look.facts.session.empty() && !look.facts.state.empty()) {
            look.facts.session = key; // its record is one that a power loss emptied
        }
    } catch (const std::exception& error) { // of one session, that must not hide the others
        look.facts.session = key;
        const auto* damage = dynamic_cast<const DamagedRecord*>(&error);
        look.facts.state = damage != nullptr ? "damaged" : "unknown";
        look.facts.why = error.what();
        look.facts.remedy = damage != nullptr ? damage->hint() : std::string();
    }
    look.facts.key = key;
    return look;
}

std::optional<SessionId> FactFinder::id_of(const std::string& key) const
{
    try {
        auto record = registry_.find(key);
        if (!record) {
            return std::nullopt;
        }
        if (record->id.session.empty()) {
            record->id.session = key;
        }
        return std::move(record->id);
    } catch (const DamagedRecord&) {
        return SessionId{.principal = {}, .session = key, .key = {}};
    }
}

std::vector<Named> FactFinder::names() const
{
    std::vector<Named> all;
    for (const auto& key : registry_.keys()) {
        try {
            if (auto id = id_of(key)) {
                all.push_back({.key = key, .id = *std::move(id)});
            }
        } catch (const std::exception&) { // of one session, that must not hide the others
            all.push_back({.key = key, .id = {.principal = {}, .session = key, .key = {}}});
        }
    }
    return all;
}

std::optional<Sight> FactFinder::sight_of(const std::string& key) const
{
    auto look = look_at_key(key);
    if (look.facts.state.empty()) {
        return std::nullopt;
    }
    return ask_guest(std::move(look), look_time);
}

namespace {

/// By which the machine that was found is asked: `held`, with what it knows of its use, where that
/// is the same one and has not been made to sleep meanwhile.
std::shared_ptr<sandbox::Sandbox> way_to(std::unique_ptr<sandbox::Machine> found,
                                         const std::string& token,
                                         const std::shared_ptr<sandbox::Sandbox>& held)
{
    const bool same = held && held->machine().record().generation == found->record().generation &&
                      held->machine().may_sleep() == found->may_sleep();
    return same ? held : std::make_shared<sandbox::Sandbox>(std::move(found), token);
}

} // namespace

/// What of it its guest knows better than the books.
Sight FactFinder::ask_guest(Look look, std::chrono::milliseconds time,
                            const std::shared_ptr<sandbox::Sandbox>& held, bool shown) const
{
    Sight sight;
    sight.facts = std::move(look.facts);
    if (sight.facts.state != to_string(State::running)) {
        return sight;
    }
    sight.trouble = std::move(look.found.trouble);
    try {
        sight.elsewhere = is_elsewhere(settings_.place, look.record);
        require_host(settings_.place, look.record);
        if (look.found.machine) {
            const auto sandbox = way_to(std::move(look.found.machine), look.record.token, held);
            sight.layers = sandbox->machine().layers();
            if (sandbox->machine().may_sleep()) {
                sight.facts.state = "paused";
                sight.info.pause.emplace().paused = true; // why, and since when, its host knows
                return sight;
            }
            // Of a machine without kept connections the server that works there says it later.
            const bool can_say = sandbox == held || sandbox->machine().reach().kept;
            sight.info =
                sandbox->glance(Deadline::after(time), shown && can_say ? &sight.shown : nullptr);
            sandbox->tell_host_pause(sight.info);
        }
    } catch (const std::exception& error) {
        sight.trouble = error.what();
    }
    if (sight.info.pause && sight.info.pause->paused) {
        sight.facts.state = "paused";
    }
    return sight;
}

/// `patience`: with a control plane that is silent, of all sessions together. Each would wait for
/// its own answer, one crowd of them after the other.
std::vector<SessionFacts>
FactFinder::collect(const Deadline& patience,
                    const std::function<SessionFacts(const std::string& key)>& describe) const
{
    const auto keys = registry_.keys();
    std::vector<SessionFacts> all(keys.size());
    side_by_side(keys.size(), [&](std::size_t i) {
        const WaitBound bound({}, patience);
        all[i] = describe(keys[i]);
    });
    // Of one without a state the session was ended meanwhile.
    std::erase_if(all, [](const SessionFacts& facts) { return facts.state.empty(); });
    std::sort(all.begin(), all.end(), [](const SessionFacts& a, const SessionFacts& b) {
        return std::tie(a.principal, a.session, a.sandbox_id) <
               std::tie(b.principal, b.session, b.sandbox_id);
    });
    return all;
}

std::vector<SessionFacts> FactFinder::all() const
{
    return collect(Deadline::after(look_time_of_all),
                   [this](const std::string& key) { return look_at_key(key).facts; });
}

std::vector<SessionFacts> FactFinder::all_asked() const
{
    const auto patience = Deadline::after(look_time_of_all);
    return collect(patience, [&](const std::string& key) {
        auto look = look_at_key(key);
        if (look.facts.state == to_string(State::running) && patience.expired()) {
            look.facts.silence = not_asked;
            return std::move(look.facts);
        }
        auto sight = ask_guest(std::move(look), look_time);
        if (!sight.trouble.empty() && sight.facts.silence.empty()) {
            sight.facts.silence = sight.trouble;
        }
        return sight.facts;
    });
}

std::optional<Activity> FactFinder::activity_of(const std::string& key,
                                                const Deadline& patience) const
{
    const WaitBound bound({}, patience);
    Activity activity;
    try {
        const auto record = registry_.find(key);
        if (!record || is_elsewhere(settings_.place, *record)) {
            return std::nullopt;
        }
        activity.session = record->id.session;
        activity.principal = record->id.principal;
        if (patience.expired()) {
            activity.trouble = not_asked;
            return activity;
        }
        const auto sandbox = reach_machine(backend_, *record);
        if (!sandbox) {
            return std::nullopt;
        }
        if (sandbox->machine().may_sleep()) {
            activity.info.pause.emplace().paused = true; // it is known, and nothing runs there
            return activity;
        }
        activity.info = sandbox->glance(Deadline::after(look_time)); // to look is not to use
    } catch (const std::exception& error) { // of one session, that must not hide the others
        activity.trouble = error.what();
    }
    return activity;
}

std::vector<Activity> FactFinder::activities() const
{
    const auto keys = registry_.keys();
    const auto patience = Deadline::after(look_time_of_all);
    std::vector<std::optional<Activity>> asked(keys.size());
    side_by_side(keys.size(), [&](std::size_t i) { asked[i] = activity_of(keys[i], patience); });
    std::vector<Activity> all;
    for (auto& activity : asked) {
        if (activity) {
            all.push_back(std::move(*activity));
        }
    }
    return all;
}

} // namespace berth::session
