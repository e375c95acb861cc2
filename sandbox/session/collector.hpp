#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/deadline.hpp"
#include "sandbox/session/collected.hpp"
#include "sandbox/session/home_keeper.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// Goes through all sessions, and clears up after what is dead. Holds nothing between calls;
/// thread-safe.
class Collector {
  public:
    Collector(const Settings& settings, sandbox::Backend& backend, Registry& registry,
              MachineKeeper& keeper);

    /// As SessionManager::collect_leftovers().
    [[nodiscard]] Collected collect(const Deadline& deadline, const std::stop_token& stop,
                                    const Homes& homes);

  private:
    /// A session without a machine whose files are to be saved.
    struct Due {
        std::string key;
        std::string name;
        std::string trouble;  ///< of the last attempt; empty: there was none
        bool cleared = false; ///< it counts as that already
    };

    [[nodiscard]] static std::string key_of(const std::string& key) { return key; }

    [[nodiscard]] static std::string key_of(const Due& due) { return due.key; }

    [[nodiscard]] static std::string key_of(const sandbox::FoundMachine& found)
    {
        return found.record.data.at("key_hash");
    }

    /// One collection, as far as it has come.
    struct Round {
        const std::stop_token& stop;
        const Homes& homes;
        Collected collected = {};
        std::vector<Due> due = {};
    };

    template <class Subjects, class Act>
    [[nodiscard]] bool for_each(const Subjects& subjects, const Deadline& deadline, Round& round,
                                const Act& act);
    [[nodiscard]] bool restore(const std::string& key, Collected& collected);
    [[nodiscard]] bool restore_lost(const Deadline& deadline, Round& round);
    [[nodiscard]] std::string name_of(const std::string& key) const;
    void clear_up(const std::string& key, Round& round);
    void collect_backend(const Deadline& deadline, Round& round);
    [[nodiscard]] bool end_strays(const Deadline& deadline, Round& round);
    [[nodiscard]] bool sweep_saves(const Deadline& deadline, Round& round);
    void save(const Due& due, Round& round);
    void remove_home(const std::string& key, Round& round);

    const Settings& settings_;
    sandbox::Backend& backend_;
    Registry& registry_;
    MachineKeeper& keeper_;
    HomeKeeper homes_;
};

} // namespace berth::session
