#include "sandbox/session/home_keeper.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/host_time.hpp"

#include <algorithm>
#include <utility>

namespace berth::session {
namespace {

using std::chrono::seconds;

/// So often what has passed is written down: what is not is lost with a restart, but for what the
/// wall clock is believed.
constexpr seconds count_interval = std::chrono::hours(1);

/// Of the time that the wall clock says has passed across a restart: a wrong one makes nothing
/// older than by an eighth of what it is kept for.
seconds most_across_restart(const Settings& settings, const Record& record)
{
    const auto retention = retention_of(settings, record);
    return retention ? *retention / 8 : seconds(0);
}

std::optional<seconds> age_of(const Settings& settings, const Record& record, const HostTime& now)
{
    return record.kept
               ? std::optional(
                     count_until(*record.kept, now, most_across_restart(settings, record)).counted)
               : std::nullopt;
}

} // namespace

std::optional<seconds> retention_of(const Settings& settings, const Record& record)
{
    // A record that a power loss emptied does not say what was promised for its home.
    const auto promised = record.made_with ? record.made_with->home_retention : seconds(0);
    const bool is_own = record.made_with && record.made_with->own_retention;
    const auto retention = is_own ? promised : settings.told_retention.value_or(promised);
    return retention == seconds(0) ? std::nullopt : std::optional(retention);
}

std::optional<std::chrono::system_clock::time_point> kept_until(const Settings& settings,
                                                                const Record& record)
{
    using std::chrono::system_clock;
    const auto now = HostTime::now();
    const auto retention = retention_of(settings, record);
    const auto age = age_of(settings, record, now);
    if (!retention || !age) {
        return std::nullopt;
    }
    // The age is in whole seconds of one of the two clocks: what that one has gone on by since is
    // taken off, or the end would be a second later at some looks than at others.
    const std::chrono::nanoseconds beyond =
        record.kept->seen.boot == now.boot
            ? std::chrono::nanoseconds(BootClock::now().time_since_epoch() - now.up)
            : std::chrono::nanoseconds(system_clock::now().time_since_epoch() - now.wall);
    return system_clock::now() + std::max(*retention - *age, seconds(0)) - beyond;
}

HomeKeeper::HomeKeeper(const Settings& settings, Registry& registry, MachineKeeper& machines)
    : settings_(settings), registry_(registry), machines_(machines)
{
}

std::optional<std::string> HomeKeeper::collect(const std::string& key,
                                               std::optional<seconds> instead)
{
    const auto record = registry_.find(key);
    if (!record || !has_no_machine(*record) || !machines_.is_ours(*record) ||
        MachineKeeper::only_waits(*record)) {
        return std::nullopt;
    }
    const auto now = HostTime::now();
    if (!record->kept || record->kept->seen.boot != now.boot ||
        now.up - record->kept->seen.up >= count_interval || !machines_.is_confirmed(key, *record)) {
        count_if_possible(key, now);
    }
    const auto is_too_old = [&](const Record& found) {
        const auto longest = instead ? instead : retention_of(settings_, found);
        const auto age = age_of(settings_, found, now);
        return has_no_machine(found) && longest && age && *age >= *longest &&
               machines_.is_confirmed(key, found) && machines_.is_unused_for(found, *longest);
    };
    const auto ended = machines_.end(key, {.purge = true, .condition = is_too_old});
    if (!ended.trouble.empty()) {
        throw Error(ErrorCode::backend_error, ended.trouble, ended.remedy);
    }
    if (ended.unnoted) {
        throw Error(*ended.unnoted);
    }
    if (!ended) {
        return std::nullopt;
    }
    return record->id.session;
}

/// On a disk that is full homes whose time is over go all the same: that makes room. The age is
/// then reckoned from what was counted last.
void HomeKeeper::count_if_possible(const std::string& key, const HostTime& now)
{
    try {
        count(key, now);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::no_space) {
            throw;
        }
    }
}

void HomeKeeper::count(const std::string& key, const HostTime& now)
{
    auto found = machines_.lock_existing(key, Deadline::after({}));
    if (!found || !has_no_machine(found->record)) {
        return;
    }
    auto& record = found->record;
    if (record.kept && machines_.is_confirmed(key, record)) {
        record.kept = count_until(*record.kept, now, most_across_restart(settings_, record));
    } else {
        machines_.begin_keeping(key, record);
    }
    registry_.put(key, record);
}

} // namespace berth::session
