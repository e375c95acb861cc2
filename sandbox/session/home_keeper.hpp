#pragma once

#include "sandbox/base/host_time.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace berth::session {

/// Removes the homes that nobody has used for too long. Holds nothing between calls; thread-safe.
class HomeKeeper {
  public:
    HomeKeeper(const Settings& settings, Registry& registry, MachineKeeper& machines);

    /// Counts for how long the session of the key has had no machine, and removes it with its home
    /// when that is longer than its retention, or than `instead` if given. The session's name if
    /// it was removed. Does not wait: throws Error(busy) when the session is locked. Throws Error
    /// where something of it is still to be saved, and cannot be.
    [[nodiscard]] std::optional<std::string>
    collect(const std::string& key, std::optional<std::chrono::seconds> instead = std::nullopt);

  private:
    void count_if_possible(const std::string& key, const HostTime& now);
    void count(const std::string& key, const HostTime& now);

    const Settings& settings_;
    Registry& registry_;
    MachineKeeper& machines_;
};

} // namespace berth::session
