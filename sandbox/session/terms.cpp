#include "sandbox/session/terms.hpp"

#include "sandbox/session/condition_keys.hpp"
#include "sandbox/session/machine_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>

namespace berth::session {
namespace {

bool has(const std::vector<std::string>& keys, std::string_view key)
{
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::uint64_t count_of(std::chrono::milliseconds time)
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

} // namespace

protocol::Terms terms_for(const Settings& settings, const std::vector<std::string>& keys)
{
    const auto& limits = settings.limits;
    const auto if_wanted = [&](std::string_view key, auto value) {
        return has(keys, key) ? std::optional(value) : std::nullopt;
    };
    return {.calls = if_wanted("session.calls", limits.calls),
            .jobs = if_wanted("session.jobs", limits.jobs),
            .nofile = if_wanted("local.nofile", limits.nofile),
            .pids = if_wanted("local.pids", std::uint64_t{limits.pids}),
            .quota = if_wanted("session.quota", limits.quota),
            .idle_end = if_wanted("session.ttl", count_of(settings.ttl)),
            .idle_pause = if_wanted("session.idle_pause", count_of(settings.idle_pause)),
            .on_disconnect = if_wanted("session.on_disconnect", settings.on_disconnect)};
}

void take_on(Conditions& made, const Settings& settings, const std::vector<std::string>& keys,
             const protocol::Terms& by_guest, const sandbox::ChangedLimits& outside)
{
    const auto& wanted = settings.limits;
    auto& limits = made.limits;
    const auto take = [](bool taken, auto& value, const auto& other) {
        value = taken ? other : value;
    };
    take(by_guest.calls.has_value(), limits.calls, wanted.calls);
    take(by_guest.jobs.has_value(), limits.jobs, wanted.jobs);
    take(by_guest.nofile.has_value(), limits.nofile, wanted.nofile);
    take(by_guest.quota || (outside.quota && has(keys, "session.quota")), limits.quota,
         wanted.quota);
    take(by_guest.idle_end.has_value(), made.ttl, settings.ttl);
    take(by_guest.idle_pause.has_value(), made.idle_pause, settings.idle_pause);
    take(by_guest.on_disconnect.has_value(), made.on_disconnect, settings.on_disconnect);
    take(has(keys, "session.home_retention"), made.home_retention, settings.home_retention);
    take(has(keys, "session.home_retention"), made.own_retention, settings.own_retention);
    take(has(keys, "session.save_on_end"), made.save_on_end, settings.save_on_end);
    take(by_guest.pids || (outside.pids && has(keys, "local.pids")), limits.pids, wanted.pids);
    take(outside.memory && has(keys, "local.memory"), limits.memory, wanted.memory);
    take(outside.cpus && has(keys, "local.cpus"), limits.cpus, wanted.cpus);
}

namespace {

constexpr std::chrono::seconds no_time{0};
/// For another server's change of the same machine.
constexpr std::chrono::seconds change_time{2};

} // namespace

std::vector<std::string> live_differences(const Settings& settings, const Conditions& made)
{
    std::vector<std::string> keys;
    for (const auto& each : condition_keys()) {
        if (each.change == Change::live && each.differs(settings, made)) {
            keys.emplace_back(each.key);
        }
    }
    return keys;
}

namespace {

/// Those of them that this call is to change.
std::vector<std::string> wanted_differences(const Settings& settings, const Record& record,
                                            const std::optional<MachineKeeper::Pending>& pending)
{
    if (!record.made_with) {
        return {};
    }
    auto keys = live_differences(settings, *record.made_with);
    if (pending) {
        Settings before;
        static_cast<Conditions&>(before) = pending->made;
        before.asked.insert(pending->keys.begin(), pending->keys.end());
        const auto changed_since = differences(before, *record.made_with);
        std::erase_if(keys, [&](const std::string& each) {
            return !has(pending->keys, each) || has(changed_since, each);
        });
    }
    return keys;
}

void give_times(const protocol::Terms& from, protocol::Terms& to)
{
    to.idle_end = from.idle_end;
    to.idle_pause = from.idle_pause;
    to.on_disconnect = from.on_disconnect;
}

/// When a machine sleeps and ends that its guest does not end is its host's and its servers'
/// matter: the guest would do so, with all jobs, once no call has come for a lease. What is left in
/// `terms` takes that back where an earlier release has said it.
protocol::Terms take_times(protocol::Terms& terms)
{
    protocol::Terms times;
    give_times(terms, times);
    terms.idle_end.reset();
    terms.idle_pause = 0;
    terms.on_disconnect = protocol::OnDisconnect::keep;
    return times;
}

} // namespace

/// The server that came last decides. What cannot be changed stays, and is told as different.
void MachineKeeper::change_terms(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox,
                                 const Registry::Hold* lock) noexcept
{
    try {
        if (wanted_differences(settings_, record, wanted.pending).empty()) {
            return;
        }
        if (lock != nullptr) {
            settle_terms(wanted, record, sandbox);
            return;
        }
        // Of two servers that come at once one must see what the other has changed: else each
        // writes its own view of the whole, and what the guest has is not what the books say.
        // Where another has the lock for long the next server that differs does it, and this one
        // with a later call, where it asks because its settings have changed.
        auto found =
            lock_existing(wanted.key, Deadline::after(wanted.held ? change_time : no_time));
        if (found && found->record.state == State::running &&
            found->record.machine.generation == record.machine.generation) {
            settle_terms(wanted, found->record, sandbox);
            record.made_with = found->record.made_with;
        }
    } catch (const std::exception&) {
        return; // the next server that differs tries again
    }
}

/// Under the session's lock, with the record as it is.
void MachineKeeper::settle_terms(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox)
{
    auto keys = wanted_differences(settings_, record, wanted.pending);
    if (keys.empty()) {
        return;
    }
    // What is not asked for stays as it is.
    sandbox::Limits limits = record.made_with->limits;
    limits.memory = has(keys, "local.memory") ? settings_.limits.memory : limits.memory;
    limits.pids = has(keys, "local.pids") ? settings_.limits.pids : limits.pids;
    limits.cpus = has(keys, "local.cpus") ? settings_.limits.cpus : limits.cpus;
    limits.quota = has(keys, "session.quota") ? settings_.limits.quota : limits.quota;
    const auto outside = backend_.change_limits(wanted.key, limits);
    auto terms = terms_for(settings_, keys);
    // A guest that reckons with fewer processes than its cgroup allows ends a job for want of room
    // that there is.
    const bool in_cgroup =
        std::ranges::any_of(sandbox.machine().layers(), [](const sandbox::Layer& layer) {
            return layer.name == "cgroup-pids" && layer.in_force;
        });
    if (!outside.pids && in_cgroup) {
        terms.pids.reset();
    }
    const auto times = backend_.ends_machines() ? protocol::Terms() : take_times(terms);
    auto taken = sandbox.change_terms(terms);
    if (!backend_.ends_machines()) {
        give_times(times, taken);
    }
    take_on(*record.made_with, settings_, keys, taken, outside);
    registry_.put(wanted.key, record);
    keep_machine_here(wanted.key, record);
}

} // namespace berth::session
