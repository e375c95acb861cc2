#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/deadline.hpp"
#include "sandbox/session/home_keeper.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// What a collection has done.
struct Collected {
    std::size_t cleared = 0;           ///< of how many sessions it removed what was dead
    std::size_t strays = 0;            ///< machines that no book knew, now ended
    std::size_t others = 0;            ///< sessions on another backend, which it left alone
    std::vector<std::string> restored; ///< sessions that the books had lost, by name
    /// Of sessions that the books had lost and cannot be told of: why, and what to do; in `failed`
    /// too.
    std::vector<std::string> unrestored;
    /// None is left that the books may have lost, but for those.
    bool knows_all = false;
    std::string awaited;              ///< whom one is locked by, where that is why it is not
    std::vector<std::string> found;   ///< keys of homes that the books had lost, now listed
    std::vector<SavedFiles> saved;    ///< of each session of which `save_on_end` was done
    std::vector<std::string> removed; ///< the sessions whose homes it removed, by name
    SweptSaves swept;                 ///< but for what failed of it
    std::vector<std::string> failed;  ///< why something stayed, of each that is not just in use
    /// The sessions that others were making or ending just then, by name: what is to be done of
    /// them is not known.
    std::vector<std::string> busy;
    /// Unnamed sessions whose servers may be dead, or not, by name; see Ended::lapses_in.
    std::vector<std::string> silent;
    /// In how long that is known of all of them.
    std::chrono::milliseconds lapse{0};
    /// Sessions of which a machine may still come that nobody waits for.
    std::size_t late = 0;
    bool in_time = false; ///< the time was enough to come to all

    /// Nothing is left to whoever comes next.
    [[nodiscard]] bool complete() const noexcept
    {
        return in_time && busy.empty() && silent.empty() && failed.empty();
    }
};

/// Which homes a collection removes besides. With any, what is due of `save_on_end` is done too,
/// what killed saves left in the workspace is removed, and machines that no book knows are ended.
struct Homes {
    bool old = false; ///< those that were kept for their retention
    /// Instead: those of sessions that have had no machine for so long.
    std::optional<std::chrono::seconds> older_than;
};

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
