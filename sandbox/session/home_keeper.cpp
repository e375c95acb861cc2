#include "sandbox/session/home_keeper.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/session/retention.hpp"

namespace berth::session {
namespace {

using std::chrono::seconds;

/// So often what has passed is written down: what is not is lost with a restart, but for what the
/// wall clock is believed.
constexpr seconds count_interval = std::chrono::hours(1);

} // namespace

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
        const auto kept = kept_by(settings_, found, now);
        return has_no_machine(found) && longest && kept && kept->counted >= *longest &&
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
        record.kept = kept_by(settings_, record, now);
    } else {
        machines_.begin_keeping(key, record);
    }
    registry_.put(key, record);
}

} // namespace berth::session
