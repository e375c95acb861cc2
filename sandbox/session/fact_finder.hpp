#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_facts.hpp"
#include "sandbox/session/settings.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::session {

/// Tells of sessions what is in the books and what their guests say. Makes and changes nothing;
/// thread-safe.
class FactFinder {
  public:
    FactFinder(const Settings& settings, sandbox::Backend& backend, Registry& registry,
               const MachineKeeper& keeper);

    /// Without a machine that runs it has the settings of the one that this server would make. Of a
    /// session without a record: that it has no sandbox yet. `remembered`: the record as this
    /// server last had it, which tells where the books cannot be asked, or know nothing of a
    /// machine that lives (SessionFacts::trouble); without one that throws.
    [[nodiscard]] SessionFacts of(const SessionId& id, const std::string& key,
                                  const std::optional<Record>& remembered) const;

    /// The same with what its guest says, which is asked for some seconds at most, and only where
    /// its machine is awake: this starts and wakes nothing. `held`: by which this server reaches
    /// the machine, if it does. Its agent is shown all of it (Sight::shown).
    [[nodiscard]] Sight own_sight(const SessionId& id, const std::string& key,
                                  const std::optional<Record>& remembered,
                                  const std::shared_ptr<sandbox::Sandbox>& held) const;

    /// By principal, then by name: as the books have them, and of each that runs whether its
    /// machine is there, for which the backend is asked (a request each at E2B; ten seconds at
    /// most).
    [[nodiscard]] std::vector<SessionFacts> all() const;

    /// The same sessions, by key, of which the records alone are read.
    [[nodiscard]] std::vector<Named> names() const;

    /// By whom and under which name all() has that key; nothing: it has not.
    [[nodiscard]] std::optional<SessionId> id_of(const std::string& key) const;

    /// The same, and each guest is asked whether it is paused: all at the same time, a second each,
    /// ten for all of them. Of one that does not answer the books tell.
    [[nodiscard]] std::vector<SessionFacts> all_asked() const;

    /// Nothing where there is no session of the key. The guest has a second. Settings are the
    /// session's, as far as they are known, whatever this program was told.
    [[nodiscard]] std::optional<Sight> sight_of(const std::string& key) const;

    /// Of every machine that lives, asked of its guest; all at the same time, as one that does not
    /// answer takes ten seconds. Of more than 32 of those the rest is not asked.
    [[nodiscard]] std::vector<Activity> activities() const;

  private:
    /// A session with what was found of its machine: a look costs E2B's control plane a request.
    struct Look {
        SessionFacts facts; ///< without a state where there is no session of the key
        Record record;
        MachineKeeper::Checked found;
    };

    [[nodiscard]] bool is_home_gone(const Record& record) const;
    [[nodiscard]] bool is_still_there(const Record& record) const;
    [[nodiscard]] std::string home_of(const Record& record) const;
    [[nodiscard]] Look look_at(Record record) const;
    [[nodiscard]] Look own_look(const SessionId& id, const std::string& key,
                                const std::optional<Record>& remembered) const;
    [[nodiscard]] Look look_at_key(const std::string& key) const;
    [[nodiscard]] std::string end_sentence(const Record& record, const Conditions& in_force) const;
    [[nodiscard]] Sight ask_guest(Look look, std::chrono::milliseconds time,
                                  const std::shared_ptr<sandbox::Sandbox>& held = {},
                                  bool shown = false) const;
    [[nodiscard]] std::vector<SessionFacts>
    collect(const Deadline& patience,
            const std::function<SessionFacts(const std::string& key)>& describe) const;
    [[nodiscard]] std::optional<Activity> activity_of(const std::string& key,
                                                      const Deadline& patience) const;

    const Settings& settings_;
    sandbox::Backend& backend_;
    Registry& registry_;
    const MachineKeeper& keeper_;
};

} // namespace berth::session
