#pragma once

#include "sandbox/session/collector.hpp"
#include "sandbox/session/fact_finder.hpp"
#include "sandbox/session/key_finder.hpp"
#include "sandbox/session/late_teller.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/make_registry.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/session/slot.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

// Of session_manager.cpp alone.

namespace berth::session {

class SessionManager::Implementation {
  public:
    Implementation(Settings settings, std::shared_ptr<sandbox::Backend> backend)
        : settings_(std::move(settings)), backend_(std::move(backend)),
          registry_(make_registry(settings_)), keeper_(settings_, *backend_, *registry_),
          collector_(settings_, *backend_, *registry_, keeper_),
          finder_(settings_, *backend_, *registry_, keeper_), key_finder_(*backend_, *registry_)
    {
    }

    Lease acquire(const SessionId& id, const std::stop_token& stop);
    void report_lost(const SessionId& id, const Lease& lease);
    void report_doubt(const SessionId& id, const Lease& lease);
    void tell_again(const SessionId& id, Told told);

    SessionFacts facts(const SessionId& id)
    {
        const auto slot = slot_of(id);
        return finder_.of(id, slot->key, slot->remembered());
    }

    bool uses(const SessionId& id)
    {
        const auto slot = slot_of(id);
        const std::lock_guard lock(slot->mutex);
        return slot->sandbox != nullptr;
    }

    std::string key_of(const SessionId& id) { return slot_of(id)->key; }

    MachineKeeper& keeper() noexcept { return keeper_; }

    [[nodiscard]] const FactFinder& finder() const noexcept { return finder_; }

    [[nodiscard]] const KeyFinder& key_finder() const noexcept { return key_finder_; }

    Ended kill(const SessionId& id, bool purge, AtEnd files);
    Ended kill_listed(const std::string& shown, bool purge, AtEnd files);

    Collector& collector() noexcept { return collector_; }

    void start_collector(const Homes& homes);
    void leave_commands() noexcept;
    void close() noexcept;

    sandbox::Backend& backend() noexcept { return *backend_; }

    Registry& registry() noexcept { return *registry_; }

    [[nodiscard]] const std::optional<Place>& place() const noexcept { return settings_.place; }

  private:
    Ended end(const std::string& key, const std::string& session, bool purge, AtEnd files);
    std::shared_ptr<Slot> slot_of(const SessionId& id);
    std::shared_ptr<Slot> slot_with(const std::string& key);
    std::optional<Lease> lease_of(const std::shared_ptr<Slot>& slot);
    void obtain(Slot& slot, const std::stop_token& stop);

    Settings settings_;
    std::shared_ptr<sandbox::Backend> backend_;
    std::shared_ptr<Registry> registry_; ///< a lease may outlive the server
    MachineKeeper keeper_;
    Collector collector_;
    FactFinder finder_;
    KeyFinder key_finder_;
    std::mutex mutex_; ///< guards slots_ and collecting_
    std::map<SessionId, std::shared_ptr<Slot>> slots_;
    std::atomic<bool> closed_{false};
    std::atomic<bool> leaving_{false};
    LateTeller teller_;
    std::once_flag collector_started_;
    std::jthread collecting_;
};

} // namespace berth::session
