#include "sandbox/session/retention.hpp"

#include "sandbox/base/deadline.hpp"

#include <algorithm>

namespace berth::session {
namespace {

using std::chrono::seconds;

/// Of the time that the wall clock says has passed across a restart: a wrong one makes nothing
/// older than by an eighth of what it is kept for.
seconds most_across_restart(const Settings& settings, const Record& record)
{
    const auto retention = retention_of(settings, record);
    return retention ? *retention / 8 : seconds(0);
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

std::optional<KeptTime> kept_by(const Settings& settings, const Record& record, const HostTime& now)
{
    if (!record.kept) {
        return std::nullopt;
    }
    return count_until(*record.kept, now, most_across_restart(settings, record));
}

std::optional<std::chrono::system_clock::time_point> kept_until(const Settings& settings,
                                                                const Record& record)
{
    using std::chrono::system_clock;
    const auto now = HostTime::now();
    const auto retention = retention_of(settings, record);
    const auto kept = kept_by(settings, record, now);
    if (!retention || !kept) {
        return std::nullopt;
    }
    // The age is in whole seconds of one of the two clocks: what that one has gone on by since is
    // taken off, or the end would be a second later at some looks than at others.
    const std::chrono::nanoseconds beyond =
        record.kept->seen.boot == now.boot
            ? std::chrono::nanoseconds(BootClock::now().time_since_epoch() - now.up)
            : std::chrono::nanoseconds(system_clock::now().time_since_epoch() - now.wall);
    return system_clock::now() + std::max(*retention - kept->counted, seconds(0)) - beyond;
}

} // namespace berth::session
