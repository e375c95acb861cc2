#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/admission.hpp"
#include "sandbox/session/adoption.hpp"
#include "sandbox/session/host_folders.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"
#include "sandbox/session/told.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/session/untold.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// Makes, finds and ends the machine of one key at a time, with the registry as its memory: all
/// that several servers must agree on is here. Holds nothing between calls; thread-safe.
class MachineKeeper {
  public:
    /// Of a session's machine, to notice another one.
    struct Seen {
        std::string generation; ///< empty: none was seen
        std::uint64_t epoch = 0;
        std::string created; ///< the session, RFC 3339; empty: not known

        /// Whether the books, which do not name that machine, are of another session that has the
        /// key since: somebody deleted the one that had it, or the books have lost that.
        [[nodiscard]] bool is_of_session_before(const Record& record) const;
    };

    struct Pending {
        std::vector<std::string> keys;
        Conditions made;
    };

    struct Wanted {
        SessionId id;
        std::string key;
        bool unnamed = false;
        Seen seen; ///< what this server had
        /// For what it is wanted: so long a machine that sleeps is waited for. When nobody wants it
        /// any more is heard then, and while a machine is set up.
        sandbox::CallToCome next = {};
        /// What this server has, and asks for again because its settings have changed; it is no
        /// client that keeps the machine from being replaced. Null: it has none.
        std::shared_ptr<sandbox::Sandbox> held = {};
        /// What the agent was told to be other than asked for; it is told again where that differs.
        std::string told_settings = {};
        /// Why the machine that is asked for cannot be made in the place of the present one.
        std::string obstacle = {};
        /// What this server has taken from the books, to tell it, and not settled yet.
        Untold taken = {};
        /// What an earlier try could not change, and the machine as it was then: nothing else of
        /// the living machine is changed, and none that another server has changed since. Nothing:
        /// all that differ.
        std::optional<Pending> pending = {};
    };

    struct Obtained {
        std::shared_ptr<sandbox::Sandbox> sandbox;
        Seen seen;
        Record record; ///< as the books had it
        Told told;
        Untold untold;             ///< of which, what the books keep until it was read
        bool others_tell = false;  ///< another server is about to tell what they keep
        std::string told_settings; ///< as Wanted has it
    };

    using Condition = std::function<bool(const Record&)>;

    MachineKeeper(const Settings& settings, sandbox::Backend& backend, Registry& registry);

    /// Attaches to the living machine of the key, else makes one. Where none can be made now, the
    /// home that is kept is used all the same: its time begins anew.
    [[nodiscard]] Obtained obtain(const Wanted& wanted);

    /// Registry::lock(), and where the books are shared and machines are bound to a host, this
    /// host's own right too, which does not lapse: whatever its holder still makes or undoes when
    /// the registry has given the lock to another, that one waits for it.
    [[nodiscard]] std::unique_ptr<Registry::Hold> lock(const std::string& key,
                                                       const Deadline& deadline) const;

    /// A session that has a record, and its lock.
    struct Locked {
        std::unique_ptr<Registry::Hold> lock;
        Record record;
    };

    /// lock(), of a session that has a record under it. Nothing where it has none: what the lock
    /// has made for it is removed again.
    [[nodiscard]] std::optional<Locked> lock_existing(const std::string& key,
                                                      const Deadline& deadline);

    /// Whether this host too says of a record without a machine that none was wanted since, and
    /// that none lives. Books that came back as they were a while ago do not know better; its home
    /// must not be removed on their word.
    [[nodiscard]] bool is_confirmed(const std::string& key, const Record& record) const;

    /// Whether nobody has used its home for so long as far as whoever has it knows, which older
    /// books do not: of machines that are on this host is_confirmed() says it.
    [[nodiscard]] bool is_unused_for(const Record& record, std::chrono::seconds time) const;

    /// Under lock(). The time for which the home of a record without a machine is kept begins now,
    /// and older records of it are told as old. The caller writes the record.
    void begin_keeping(const std::string& key, Record& record) const;

    /// Under lock(). Removes what a key has in the books, and beside a home that is not there.
    void forget(const std::string& key) const;

    /// What check() found of a machine that runs by the books.
    struct Checked {
        std::unique_ptr<sandbox::Machine> machine; ///< null: gone, elsewhere, or not to be told
        std::string trouble; ///< why it cannot be told now, and the books stand; else empty
    };

    /// Corrects a record that says "running" of a machine that is gone; in memory only, the books
    /// follow at the next obtain().
    [[nodiscard]] Checked check(Record& record) const;

    /// How a session is ended.
    struct Manner {
        bool purge = false; ///< with its home, and its record
        AtEnd files = AtEnd::save;
        Deadline deadline = Deadline::after({}); ///< for the session's lock, and no more
        std::stop_token stop = {};               ///< breaks the saving off, no more
        /// If any, must hold of the record, under the session's lock too.
        Condition condition = {};
    };

    /// Ends the machine, and has saved what `save_on_end` names of the home: then, never while
    /// commands write to it, and of the home alone, without what was mounted into it. Where that
    /// fails a purge does not remove the home. A damaged record is no obstacle: this is the way out
    /// of it. One takes its place that says "ended" and has the key for a name, so that what is
    /// kept is listed until it is purged.
    Ended end(const std::string& key, const Manner& manner);

    /// Ends the machine of a server that has left it (Sandbox::leave()) with all that runs there,
    /// unless somebody else works there by now: that one goes on, and has noticed nothing. What
    /// nobody was told of is in the books then. Its files stay. `deadline`: for the session's lock.
    void end_left(const std::string& key, sandbox::Sandbox& left, const Deadline& deadline);

    /// What the books have untold, added to `told` but for what this server has `taken` before.
    /// Nothing: there is nothing, or another server that lives is about to tell it (`others_tell`),
    /// or they cannot be asked now (the same).
    [[nodiscard]] Untold take_untold(const std::string& key, const Untold& taken, Told& told,
                                     bool& others_tell) noexcept;

    /// The agent has read what was told of the session's earlier machines: the books let go of it.
    /// False where they cannot now: as long as they keep it, whoever comes next tells it again.
    /// `deadline`: for the session's lock.
    [[nodiscard]] bool forget_told(const std::string& key, const Untold& told,
                                   const Deadline& deadline) noexcept;

    /// Has the books tell that of a session's machine that failed to whoever comes next. Nothing
    /// where they cannot, or have no such session. `deadline`: for the session's lock.
    void keep_for_next(const std::string& key, const std::vector<std::string>& notices,
                       const Deadline& deadline) noexcept;

    /// Why the machine that a call had is gone, where the books say that it was ended; empty where
    /// they do not, or cannot be asked.
    [[nodiscard]] std::string why_ended(const std::string& key, const Seen& seen) noexcept;

    /// Whether nothing is left of a session but a machine that may still come, to be ended.
    [[nodiscard]] static bool only_waits(const Record& record) noexcept;

    /// What becomes of that machine of the key when its last server leaves, as the books have it:
    /// a server with other settings may have come later. Nothing where they do not say.
    [[nodiscard]] std::optional<protocol::OnDisconnect>
    on_disconnect_of(const std::string& key, const std::string& generation) const noexcept;

    /// Gives a machine that somebody else has made, and that no book knows, to a session which has
    /// none: by the backend's own id of it, where machines are bound to no host. Throws Error.
    Adopted adopt_machine(const std::string& id, const Adoption& adoption);

    /// Gives the home of the key `from` to another session, which has neither machine nor home.
    /// `from` may be a key that no book knows. A machine that lives is ended, which has to be
    /// allowed where it has jobs; one in use is not taken away. Throws Error.
    Adopted adopt(const std::string& from, const Adoption& adoption);

    /// Whether the end of its machine can be told here, and what is left of it removed: it is of
    /// this backend, host and state directory.
    [[nodiscard]] bool is_ours(const Record& record) const;

    /// Whether a machine of the key lives on this host, or may, whatever the books say: also where
    /// these are files, a server with other books may have made one in this state directory.
    [[nodiscard]] bool lives_here(const std::string& key) const;

    /// Removes what is kept of a session of which there is no record: a claim, a lock, a folder
    /// without a home. For one that came to nothing.
    void drop_unused(const std::string& key) noexcept;

    /// The keys of what servers may have left that were killed before they had written a record.
    [[nodiscard]] std::vector<std::string> abandoned() const;

    /// drop_unused() for one of them.
    void drop_abandoned(const std::string& key) noexcept;

    /// The keys of homes on this host that shared books may have lost.
    [[nodiscard]] std::vector<std::string> unsure_homes() const;

    /// The keys of sessions that had a machine here, and of which shared books know nothing.
    [[nodiscard]] std::vector<std::string> lost_machines();

    /// Has such a session in the books again: with its machine and all that it does where that
    /// lives, else with what is to be told of it. False: the host has no word of it that counts, or
    /// they know of it. Does not wait: throws Error(busy).
    bool restore(const std::string& key);

    /// Removes what an unnamed session has left whose server is dead, and of which shared books
    /// know nothing: its home too. False: it is none. Does not wait: throws Error(busy).
    bool end_lost_unnamed(const std::string& key);

    /// Writes a record for such a home, unless there is one, or a machine lives in it: of a session
    /// that has ended and has its key for a name, so that it is listed, can be taken or removed,
    /// and goes after this server's retention from now. The session's own next call has it. False:
    /// nothing was to be written. Does not wait: throws Error(busy).
    bool record_home(const std::string& key);

    /// Ends the unnamed session `key` if its server is dead; of a named one, removes what its dead
    /// machine, or the dead server that was making it, left; of both, files that are half written.
    /// Saves what is due of either, with AtEnd::save; `ended`: there was something to clear up.
    /// Of a session that has something here which its record hides, being another place's,
    /// `trouble` and `remedy`. Does not wait for a lock: throws Error(busy) when the session is
    /// locked.
    Ended collect(const std::string& key, AtEnd files, const std::stop_token& stop);

    /// Of the server of an unnamed session, beside its Registry::claim(), where that is in shared
    /// books: a lock that this host's kernel keeps for it, and frees when it dies. `held` is what
    /// it has of that, made anew where somebody removed it with the session.
    /// Throws Error(busy) where another has it.
    void hold_claim_here(const std::string& key, UniqueFd& held) const;

    /// Whether the machine of a record has another network than this server asks for, and could be
    /// given that; and whether what it has may be more.
    [[nodiscard]] bool wants_other_network(const Record& record) const;
    [[nodiscard]] bool may_reach_more(const Record& record) const;

    /// Whether the machine of that key has a network that may be more than this server asks for,
    /// and could be kept from it: the next obtain() does.
    [[nodiscard]] bool needs_other_network(const std::string& key) const noexcept;

    /// Ends a machine that the backend has found asleep and no record names: one that runs may be
    /// in use by a server that has yet to write its record again. Its files go with it, so not
    /// before a session's would: `instead`, or after this server's time to live and retention.
    /// True: it was ended. Does not wait: throws Error(busy).
    bool end_stray(const sandbox::FoundMachine& found, std::optional<std::chrono::seconds> instead);

  private:
    /// Of a machine that is made in place of another.
    struct News {
        std::string notice;      ///< why; empty: nobody misses it
        bool had_record = false; ///< of the other
    };

    struct BothLocks {
        std::unique_ptr<Registry::Hold> from;
        std::unique_ptr<Registry::Hold> to;
    };

    // ---- machine_keeper.cpp
    void require_same_backend(const Record& record) const;
    void require_no_excess(const Record& record, const std::string& obstacle) const;
    /// Of a machine of which nobody knows more than the key, or than that and the record.
    [[nodiscard]] sandbox::MachineRecord machine_of_key(const std::string& key) const;
    [[nodiscard]] sandbox::MachineRecord machine_of_key(const std::string& key,
                                                        const Record& record) const;
    [[nodiscard]] sandbox::MachineRecord any_of(const std::string& key, const Record& record) const;
    /// `lock`: the session's, if this call has it.
    [[nodiscard]] std::optional<Obtained> attach(const Wanted& wanted, const Record& found,
                                                 const Registry::Hold* lock = nullptr);
    void settle(const std::string& key, Record& record, bool attended, const Registry::Hold& lock);
    [[nodiscard]] bool has_passed_on(const Registry::Hold& lock) const;
    void require_held(const Registry::Hold& lock) const;
    void destroy(const sandbox::MachineRecord& machine, bool purge, const Registry::Hold& lock);
    [[nodiscard]] std::unique_ptr<Registry::Hold> lock_to_make(const Wanted& wanted) const;
    bool clear_unrecorded(const std::string& key, bool purge, const Registry::Hold& lock);
    static void give_to(const Wanted& wanted, Record& record);
    void begin_machine(const Wanted& wanted, Record& record) const;
    [[nodiscard]] Obtained replace(const Wanted& wanted, std::optional<Record> before,
                                   const Registry::Hold& lock);
    [[nodiscard]] Obtained create(const Wanted& wanted, Record& record, const News& news,
                                  const Registry::Hold& lock);

    // ---- foreign_machine.cpp
    void require_nobody_s(const std::string& id) const;
    void set_unknown_conditions(Record& record) const;
    [[nodiscard]] std::unique_ptr<Registry::Hold> lock_foreign(const std::string& key,
                                                               const Deadline& deadline) const;
    Adopted adopt_free_machine(const std::string& id, const Adoption& adoption);

    // ---- host_evidence.cpp
    [[nodiscard]] bool are_books_elsewhere() const;
    [[nodiscard]] bool is_foreign(const std::string& key) const;
    [[nodiscard]] Error with_maker(const Error& refusal, const std::string& key) const;
    [[nodiscard]] std::unique_ptr<Registry::Hold> lock_books(const std::string& key,
                                                             const Deadline& deadline) const;
    [[nodiscard]] bool is_old(const std::string& key, const Record& record) const;
    void mark(const std::string& key, Record& record) const;
    void note_wanted(const std::string& key) noexcept;
    Ended collect_unnamed(const std::string& key, const Record& record, AtEnd files,
                          const std::stop_token& stop);

    // ---- late_machines.cpp
    void undo(const sandbox::MachineRecord& machine, bool purge, const Registry::Hold& lock);
    void roll_back(const std::string& key, std::optional<Record> before,
                   const Registry::Hold& lock) noexcept;
    [[nodiscard]] bool keep_made_home(const std::string& key, Record& record);
    void settle_creation(const std::string& key, Record& record, const Registry::Hold& lock);
    void note_late(Record& record) const;
    void give_up(const std::string& key, const std::string& generation) noexcept;
    bool end_late(const std::string& key, Record& record, const Registry::Hold& lock);
    void forget_unless_late(const std::string& key, Record& record, const Registry::Hold& lock);
    void settle_late(const std::string& key);

    // ---- lost_record.cpp
    void keep_machine_here(const std::string& key, const Record& record) const;
    void renew_machine_here(const std::string& key, const Record& record) const noexcept;
    void drop_machine_here(const std::string& key) const noexcept;
    [[nodiscard]] std::optional<Record> copy_of(const std::string& key) const;
    [[nodiscard]] bool take_end_kept_here(const std::string& key, Record& record) const;
    [[nodiscard]] std::optional<Record> copy_with_home(const std::string& key) const;
    [[nodiscard]] bool has_copy(const std::string& key) const;
    [[nodiscard]] std::optional<Record> put_back(const std::string& key,
                                                 std::optional<Record> record);
    [[nodiscard]] std::optional<Record> kept_later(const Record& record) const;
    [[nodiscard]] Record latest(const std::string& key, Record record);

    // ---- machine_adoption.cpp
    [[nodiscard]] BothLocks lock_both(const std::string& from, const std::string& to,
                                      const Deadline& deadline) const;
    [[nodiscard]] Adopted adopt(const std::string& from, const std::string& to,
                                const Adoption& adoption, const BothLocks& locks);
    [[nodiscard]] bool has_home_of(const std::string& key,
                                   const std::optional<Record>& record) const;
    void finish_adoption(const std::string& to, Record record);
    void finish_begun(const std::string& to) noexcept;
    void require_adopted(const Record& record) const;
    bool settle_adoption(const std::string& to);
    void require_free(const std::string& to, const std::optional<Record>& record,
                      const SessionId& id) const;
    void require_owner(const std::string& from, const std::optional<Record>& record,
                       const Adoption& adoption) const;
    [[nodiscard]] bool end_for_adoption(const std::string& key, std::optional<Record>& record,
                                        const Adoption& adoption, const Registry::Hold& lock);
    void take_words_to_adopt(const std::string& key, Record& record);
    static void require_idle(const Record& record, const Adoption& adoption,
                             sandbox::Sandbox& sandbox);
    [[nodiscard]] Record record_of_adopted(const std::string& from,
                                           const std::optional<Record>& found,
                                           const SessionId& to) const;

    // ---- machine_collection.cpp
    [[nodiscard]] static bool is_unused(const Record& record);
    [[nodiscard]] bool outlives_its_claim(const std::string& key, const Record& record) const;
    void settle_gone(const std::string& key, Record& record, bool attended,
                     const Registry::Hold& lock);
    [[nodiscard]] bool is_behind_another(const Record& record) const;
    [[nodiscard]] Ended hidden_by(const std::string& key, const Record& other) const;
    bool end_forgotten(const std::string& key, const Record& record);
    [[nodiscard]] bool is_of_another(const sandbox::MachineRecord& machine);
    [[nodiscard]] bool has_died(const Record& record) const;
    [[nodiscard]] bool is_purged_here(const std::string& key, const Record& record) const;
    bool settle_dead(const std::string& key);

    // ---- machine_spec.cpp
    /// `lock` must outlive it.
    [[nodiscard]] sandbox::MachineSpec fresh_spec(const std::string& key,
                                                  const std::string& session,
                                                  const Registry::Hold& lock) const;
    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    make_machine(const Wanted& wanted, const Record& record, const Registry::Hold& lock) const;
    /// What the machine behind that of `before` is made with.
    [[nodiscard]] Conditions conditions_after(const Record& before, bool of_same_principal) const;
    [[nodiscard]] sandbox::MachineSpec specify(const Wanted& wanted, const Record& record,
                                               const Registry::Hold& lock) const;

    // ---- network_terms.cpp
    [[nodiscard]] bool change_network(const Wanted& wanted, Record& record,
                                      sandbox::Sandbox& sandbox, const Registry::Hold* lock);
    void settle_network(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox,
                        const Registry::Hold& lock);

    // ---- other_version.cpp
    /// As attach(), but nothing where the guest's version is another; under `lock` that machine is
    /// ended, or an Error says why it cannot be.
    [[nodiscard]] std::optional<Obtained> attach_spoken(const Wanted& wanted, Record& record,
                                                        const Registry::Hold* lock = nullptr);
    void end_outgrown(const Wanted& wanted, Record& record, const Error& refusal,
                      const Registry::Hold& lock);
    [[nodiscard]] bool retire_outgrown(const std::string& key, Record& record,
                                       sandbox::Sandbox& sandbox);

    // ---- retirement.cpp
    [[nodiscard]] bool is_outdated(const Record& record);
    [[nodiscard]] bool may_make_another(const Wanted& wanted) const;
    [[nodiscard]] static std::shared_ptr<sandbox::Sandbox> held_of(const Wanted& wanted,
                                                                   const Record& record);
    [[nodiscard]] std::shared_ptr<sandbox::Sandbox> sandbox_to_retire(const Wanted& wanted,
                                                                      const Record& record);
    [[nodiscard]] std::string obstacle_to(const Wanted& wanted, const Record& record,
                                          const Registry::Hold& lock) const;
    [[nodiscard]] bool retire(const Wanted& wanted, Record& record, const Registry::Hold& lock,
                              std::string& obstacle);
    [[nodiscard]] bool retire_left(const std::string& key, Record& record, sandbox::Sandbox& left);
    void end_retired(const std::string& key, Record& record, Event why, const Registry::Hold& lock);
    [[nodiscard]] LastNotices take_last_notices(const std::string& key, Record& record,
                                                sandbox::Sandbox& sandbox, LastOf which, bool ends);
    void keep_last_words(const std::string& key, Record& record, const Registry::Hold& lock);
    void take_last_words(const std::string& key, Record& record, bool ends);

    // ---- session_end.cpp
    [[nodiscard]] std::unique_ptr<Registry::Hold>
    lock_to_end(const std::string& key, const Deadline& deadline, bool interrupted) const;
    Ended end(const std::string& key, Record& record, const Manner& manner,
              const Registry::Hold& lock);
    void note_ending(const std::string& key, Record& record, bool purge);
    void put_before_removal(const std::string& key, const Record& record);
    void save_due(const std::string& key, const std::stop_token& stop, Ended& result);
    void save(const std::string& key, Record& record, const std::stop_token& stop,
              const Registry::Hold& lock, Ended& result);
    void note(const std::string& key, const Record& record, Ended& result);
    [[nodiscard]] Leaving begin_saving(const std::string& key, Record& record);
    void end_saving(const std::string& key, Record& record, const sandbox::MachineRecord& made,
                    Ended& result, const Registry::Hold& lock);
    [[nodiscard]] SavedFiles save_from_home(const std::string& key, Record& record,
                                            const std::stop_token& stop, const Registry::Hold& lock,
                                            std::optional<sandbox::MachineRecord>& made);

    // ---- telling.cpp
    [[nodiscard]] Untold::Teller claim_telling(const std::string& key, const Untold& taken,
                                               bool& others_tell) const;
    [[nodiscard]] Untold take_untold(const std::string& key, bool knows, const Untold& taken,
                                     Told& told, bool& others_tell);
    void take_untold(const Wanted& wanted, const Record& record, bool knows, Obtained& obtained);
    void take_news(const Wanted& wanted, const Record& record, Obtained& obtained) const;

    // ---- terms.cpp
    void change_terms(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox,
                      const Registry::Hold* lock) noexcept;
    void settle_terms(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox);

    const Settings& settings_;
    sandbox::Backend& backend_;
    Registry& registry_;
    HostFolders host_;
    Admission admission_;
};

} // namespace berth::session
