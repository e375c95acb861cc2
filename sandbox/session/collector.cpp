#include "sandbox/session/collector.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace berth::session {

Collector::Collector(const Settings& settings, sandbox::Backend& backend, Registry& registry,
                     MachineKeeper& keeper)
    : settings_(settings), backend_(backend), registry_(registry), keeper_(keeper),
      homes_(settings, registry, keeper)
{
}

Collected Collector::collect(const Deadline& deadline, const std::stop_token& stop,
                             const Homes& homes)
{
    Collected collected;
    const auto keys = registry_.keys();
    const auto done = std::find_if(keys.begin(), keys.end(), [&](const std::string& key) {
        if (deadline.expired() || stop.stop_requested()) {
            return true;
        }
        collect_one(key, stop, homes, collected);
        return false;
    });
    collected.complete = done == keys.end();
    keeper_.drop_abandoned();
    backend_.collect(deadline);
    return collected;
}

/// A damaged or busy one is no reason to leave the others.
void Collector::collect_one(const std::string& key, const std::stop_token& stop, const Homes& homes,
                            Collected& collected) noexcept
{
    try {
        const bool thorough = homes.old || homes.older_than;
        if (!clear_up(key, thorough ? AtEnd::save : AtEnd::leave, stop, collected) || !thorough) {
            return;
        }
        if (auto removed = homes_.collect(key, homes.older_than)) {
            if (settings_.on_removed) {
                settings_.on_removed(*removed);
            }
            collected.removed.push_back(std::move(*removed));
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) {
            collected.failed.emplace_back(error.what());
        }
    } catch (const std::exception& error) {
        collected.failed.emplace_back(error.what());
    }
}

/// False where something of its home could not be saved: it stays.
bool Collector::clear_up(const std::string& key, AtEnd files, const std::stop_token& stop,
                         Collected& collected)
{
    auto ended = keeper_.collect(key, files, stop);
    collected.cleared += ended ? 1U : 0U;
    if (ended.saved) {
        if (settings_.on_saved) {
            settings_.on_saved(*ended.saved);
        }
        collected.saved.push_back(std::move(*ended.saved));
    }
    if (ended.trouble.empty()) {
        return true;
    }
    if (!stop.stop_requested()) {
        const auto record = registry_.find(key);
        const auto name = record ? record->id.session : key;
        if (settings_.on_unsaved) {
            settings_.on_unsaved(name, ended.trouble);
        }
        collected.failed.push_back("the home of session " + name +
                                   ", not saved (session.save_on_end): " + ended.trouble +
                                   (ended.remedy.empty() ? "" : " (" + ended.remedy + ')'));
    }
    return false;
}

} // namespace berth::session
