#include "sandbox/session/terms.hpp"

#include "sandbox/session/machine_keeper.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>

namespace berth::session {
namespace {

constexpr std::array<std::string_view, 11> live{
    "local.cpus",    "local.memory",        "local.nofile", "local.pids",
    "session.calls", "session.idle_pause",  "session.jobs", "session.on_disconnect",
    "session.quota", "session.save_on_end", "session.ttl"};

bool has(const std::vector<std::string>& keys, std::string_view key)
{
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::uint64_t count_of(std::chrono::milliseconds time)
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

} // namespace

bool is_live(const std::string& key)
{
    return std::find(live.begin(), live.end(), key) != live.end();
}

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
    take(by_guest.quota.has_value(), limits.quota, wanted.quota);
    take(by_guest.idle_end.has_value(), made.ttl, settings.ttl);
    take(by_guest.idle_pause.has_value(), made.idle_pause, settings.idle_pause);
    take(by_guest.on_disconnect.has_value(), made.on_disconnect, settings.on_disconnect);
    take(has(keys, "session.save_on_end"), made.save_on_end, settings.save_on_end);
    take(by_guest.pids || (outside.pids && has(keys, "local.pids")), limits.pids, wanted.pids);
    take(outside.memory && has(keys, "local.memory"), limits.memory, wanted.memory);
    take(outside.cpus && has(keys, "local.cpus"), limits.cpus, wanted.cpus);
}

/// The server that came last decides. What cannot be changed stays, and is told as different.
void MachineKeeper::change_terms(const std::string& key, Record& record, sandbox::Sandbox& sandbox,
                                 const Registry::Hold* lock) noexcept
{
    try {
        if (!record.made_with) {
            return;
        }
        auto keys = differences(settings_, *record.made_with);
        std::erase_if(keys, [](const std::string& each) { return !is_live(each); });
        if (keys.empty()) {
            return;
        }
        // What is not asked for stays as it is.
        sandbox::Limits outside = record.made_with->limits;
        outside.memory = has(keys, "local.memory") ? settings_.limits.memory : outside.memory;
        outside.pids = has(keys, "local.pids") ? settings_.limits.pids : outside.pids;
        outside.cpus = has(keys, "local.cpus") ? settings_.limits.cpus : outside.cpus;
        const auto by_guest = sandbox.change_terms(terms_for(settings_, keys));
        take_on(*record.made_with, settings_, keys, by_guest,
                backend_.change_limits(record.machine, outside));
        if (lock != nullptr) {
            registry_.put(key, record);
        } else {
            write_terms(key, record);
        }
    } catch (const std::exception&) {
        return; // the next server that differs tries again
    }
}

/// Whether this server could, and should, put another machine in its place.
bool MachineKeeper::is_outdated(const Record& record)
{
    return record.state == State::running && record.made_with && is_ours(record) &&
           need_another(settings_, *record.made_with) && backend_.availability().available;
}

/// Where another has the lock it is making or ending the machine: then there is nothing to write.
void MachineKeeper::write_terms(const std::string& key, const Record& record)
{
    const auto held = lock(key, Deadline::after({}));
    auto found = registry_.find(key);
    if (found && found->state == State::running &&
        found->machine.generation == record.machine.generation) {
        found->made_with = record.made_with;
        registry_.put(key, *found);
    }
}

} // namespace berth::session
