#pragma once

#include "sandbox/session/key_finder.hpp"
#include "sandbox/session/late_teller.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/make_registry.hpp"
#include "sandbox/session/parts.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/session/settler.hpp"
#include "sandbox/session/slot.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

// Of session_manager.cpp and session_manager_lease.cpp alone.

namespace berth::session {

class SessionManager::Implementation {
  public:
    Implementation(Settings settings, std::shared_ptr<sandbox::Backend> backend)
        : backend_(std::move(backend)), registry_(make_registry(settings, *backend_)),
          parts_(std::make_shared<Parts>(std::move(settings), 1, *backend_, *registry_)),
          key_finder_(*backend_, *registry_)
    {
    }

    Lease acquire(const SessionId& id, const sandbox::CallToCome& next);
    void report_lost(const SessionId& id, const Lease& lease);
    std::string why_ended(const SessionId& id, const Lease& lease);
    void report_doubt(const SessionId& id, const Lease& lease);
    void report_unread(const SessionId& id, Told told);
    void tell_again(const SessionId& id, Told told);

    SessionFacts facts(const SessionId& id)
    {
        const auto slot = slot_of(id);
        return parts()->finder.of(id, slot->key, slot->remembered());
    }

    Sight look(const SessionId& id)
    {
        const auto slot = slot_of(id);
        std::shared_ptr<sandbox::Sandbox> held;
        {
            const std::lock_guard lock(slot->mutex);
            held = slot->sandbox;
        }
        const auto parts = this->parts();
        slot->settle_told(parts->keeper);
        return parts->finder.own_sight(id, slot->key, slot->remembered(), held);
    }

    bool uses(const SessionId& id)
    {
        const auto slot = slot_of(id);
        const std::lock_guard lock(slot->mutex);
        return slot->sandbox != nullptr;
    }

    std::string key_of(const SessionId& id) { return slot_of(id)->key; }

    /// Those of this moment.
    [[nodiscard]] std::shared_ptr<Parts> parts()
    {
        const std::lock_guard lock(mutex_);
        return parts_;
    }

    void change(const Settings& later);

    [[nodiscard]] const KeyFinder& key_finder() const noexcept { return key_finder_; }

    Ended kill(const SessionId& id, bool purge, AtEnd files);
    Ended kill(const std::shared_ptr<Slot>& slot, bool purge, AtEnd files);
    Ended kill_listed(const std::string& shown, bool purge, AtEnd files);

    /// Once in its life, at its beginning.
    void start_collector(const Homes& homes);
    /// What was given up just now may still come.
    void collect_late() noexcept;
    void leave_commands() noexcept;
    void close() noexcept;

    sandbox::Backend& backend() noexcept { return *backend_; }

    Registry& registry() noexcept { return *registry_; }

  private:
    Ended end(const std::string& key, const std::string& session, bool purge, AtEnd files);
    std::shared_ptr<Slot> slot_of(const SessionId& id);
    std::shared_ptr<Slot> slot_with(const std::string& key);
    void collect(const Homes& homes, std::chrono::seconds pause);
    [[nodiscard]] bool goes_on_collecting(const std::stop_token& stop);
    std::optional<Lease> lease_of(const std::shared_ptr<Slot>& slot,
                                  const std::shared_ptr<Parts>& parts, bool makes);
    void obtain(Slot& slot, const std::shared_ptr<Parts>& parts, const sandbox::CallToCome& next);
    bool goes_on_with_held(Slot& slot, const Parts& parts, const MachineKeeper::Wanted& wanted);
    void take_untold(const std::shared_ptr<Slot>& slot, const std::shared_ptr<Parts>& parts,
                     bool makes);
    MachineKeeper::Obtained obtain_or_look_later(MachineKeeper& keeper,
                                                 const MachineKeeper::Wanted& wanted);
    void make_or_find(Slot& slot, const std::shared_ptr<Parts>& parts,
                      const MachineKeeper::Wanted& wanted);

    void keep_obtained(Slot& slot, const Parts& parts, const MachineKeeper::Wanted& wanted,
                       MachineKeeper::Obtained obtained, bool waits,
                       MachineKeeper::Pending pending);

    std::shared_ptr<sandbox::Backend> backend_;
    std::shared_ptr<Registry> registry_; ///< a lease may outlive the server
    std::mutex mutex_;                   ///< guards parts_, slots_ and collecting_ with its marks
    std::shared_ptr<Parts> parts_;
    KeyFinder key_finder_;
    std::map<SessionId, std::shared_ptr<Slot>> slots_;
    std::mutex closing_; ///< held by close(), before any other
    std::atomic<bool> closed_{false};
    std::atomic<bool> leaving_{false};
    LateTeller teller_;
    std::once_flag collector_started_;
    bool collects_ = false;       ///< collecting_ is at work
    bool collects_again_ = false; ///< and goes on with what was wanted meanwhile
    std::jthread collecting_;
    Settler settler_; ///< last: its thread uses the others
};

} // namespace berth::session
