// The part of the keeper that ends machines, and has saved what their sessions leave.

#include "sandbox/base/error.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/timed_stop.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace berth::session {
namespace {

/// Of one session. A call of it is told `busy` meanwhile.
constexpr std::chrono::minutes save_time{5};

/// Before anything is noted: one that lives where this server cannot end it stays as it is, in the
/// books too. One of this host that does not answer is ended for that.
void require_in_reach(sandbox::Backend& backend, const Record& record)
{
    if (record.state != State::running) {
        return;
    }
    try {
        (void)backend.attach(record.machine);
    } catch (const Error& error) {
        if (!backend.is_bound_to_host() || error.code() == ErrorCode::sandbox_unavailable) {
            throw;
        }
    }
}

/// Of a record whose content was lost: the home that is kept must be listed until it is purged. The
/// name comes back with the session's next call.
void take_over(const std::string& key, Record& record)
{
    record.id.session = key;
    record.found_home = true;
    const auto now = std::chrono::system_clock::now();
    if (record.created == std::chrono::system_clock::time_point{}) {
        record.created = now;
    }
    record.last_used = std::max(record.last_used, now);
    record.why = "its record was damaged, and it was ended on request";
}

/// Whether another machine lives by now than the one of that generation, which was interrupted;
/// empty: none was.
bool has_followed(const Record& record, const std::string& interrupted)
{
    return !interrupted.empty() && record.state == State::running &&
           record.machine.generation != interrupted;
}

} // namespace

/// `interrupted`: the machine that was being made has its end, or has it when its server goes on.
std::unique_ptr<Registry::Hold>
MachineKeeper::lock_to_end(const std::string& key, const Deadline& deadline, bool interrupted) const
{
    try {
        return lock(key, deadline);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy || !interrupted) {
            throw;
        }
        Error waiting(error.code(),
                      std::string(error.what()) + "; what it was making is ended all the same",
                      error.hint());
        throw Error(waiting.with_details_of(error));
    }
}

Ended MachineKeeper::end(const std::string& key, const Manner& manner)
{
    std::optional<Record> record;
    bool locked = false;
    const auto look = [&] {
        try {
            record = registry_.find(key);
            if (record) {
                record = locked ? latest(key, *std::move(record))
                                : kept_later(*record).value_or(*record);
            }
        } catch (const DamagedRecord&) {
            record.emplace(); // damaged: whatever the key occupies is removed
            record->state = State::lost;
        }
        if (record && record->machine.backend.empty()) {
            record->machine = machine_of_key(key); // a record without content
        }
        return record &&
               (manner.purge || record->state != State::ended || record->ending ||
                lives_here(key) || (manner.files == AtEnd::save && owes_files(*record))) &&
               (!manner.condition || manner.condition(*record));
    };
    // Before the lock: asking for a session that never was must not make a folder for it.
    if (!look()) {
        return {};
    }
    require_same_backend(*record);
    require_place(settings_.place, *record);
    std::string in_making; // the generation
    if (record->state == State::creating && !manner.condition) {
        // Else its session.setup, of an hour perhaps, would be waited for.
        in_making = record->machine.generation;
        backend_.interrupt(machine_of_key(key, *record));
    }
    finish_begun(key);
    const auto lock = lock_to_end(key, manner.deadline, !in_making.empty());
    locked = true;
    // Whoever made it has undone it, or a call that was quicker has cleared up, and what it has
    // made since nobody asked to end.
    if (!look() || (!manner.purge && has_followed(*record, in_making))) {
        return {.ended = !in_making.empty(), .saved = {}, .trouble = {}, .remedy = {}};
    }
    require_same_backend(*record);
    require_place(settings_.place, *record);
    require_adopted(*record);
    return end(key, *record, manner, *lock);
}

Ended MachineKeeper::end(const std::string& key, Record& record, const Manner& manner,
                         const Registry::Hold& lock)
{
    const bool owed = manner.files != AtEnd::give_up && owes_files(record);
    const bool purge = manner.purge && !owed;
    const bool unrecorded = record.state == State::ended && lives_here(key);
    const bool known =
        (record.state == State::running || record.state == State::ended) && !record.saving.begun;
    if (is_ours(record)) {
        require_in_reach(backend_, record);
    }
    // Of one without a name nobody comes who could be told.
    if (!purge && !record.unnamed && record.state == State::running && is_ours(record)) {
        keep_last_words(key, record, lock);
    }
    if (record.state == State::creating && (purge || !keep_made_home(key, record))) {
        note_late(record);
    }
    note_ending(key, record, purge);
    // Where the books are elsewhere the home goes with whatever they do not know of.
    destroy(known ? record.machine : machine_of_key(key, record), purge && !are_books_elsewhere(),
            lock);
    clear_unrecorded(key, purge, lock);
    Ended result{.ended = true, .saved = {}, .trouble = {}, .remedy = {}};
    if (purge) {
        forget_unless_late(key, record, lock);
        return result;
    }
    if (record.state != State::ended && !(manner.purge && record.state == State::lost)) {
        apply(record, Event::end);
    } else if (!manner.purge && unrecorded) {
        begin_keeping(key, record); // of the machine that the books did not know
    }
    record.saving.begun = false;
    record.ending = false;
    record.saving.due = owed;
    if (record.id.session.empty()) {
        take_over(key, record);
    }
    note(key, record, result);
    if (owed && manner.files == AtEnd::save) {
        save(key, record, manner.stop, lock, result);
        // To remove it makes room on a disk that is full, but none in shared books.
        if (manner.purge && result.trouble.empty() && (!result.unnoted || !registry_.is_shared())) {
            // As above: by the key where the books are elsewhere, which may name another machine.
            destroy(known && !are_books_elsewhere() ? record.machine : any_of(key, record), true,
                    lock);
            forget_unless_late(key, record, lock);
            result.unnoted.reset();
        }
    }
    return result;
}

/// Who comes to what a killed command has left is told that it was ended, not that it was lost, and
/// goes on with it. Who has a home deleted that takes its time has that told meanwhile.
void MachineKeeper::note_ending(const std::string& key, Record& record, bool purge)
{
    const bool lives = !has_no_machine(record);
    if (!lives && (!purge || record.id.session.empty())) { // a damaged one is replaced later
        return;
    }
    record.ending = lives;
    record.purging = purge;
    put_before_removal(key, record);
}

/// What became of a machine is in the books before what is left of it, and that may be the only
/// other thing that tells, is removed: for whoever comes after a server that was killed meanwhile.
void MachineKeeper::put_before_removal(const std::string& key, const Record& record)
{
    try {
        registry_.put(key, record);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::busy || registry_.is_shared()) {
            throw; // the right to end it has passed on, or to end it makes no room in those books
        }
        // On a disk that is full a session must be ended all the same: that makes room.
    }
}

bool MachineKeeper::forget_told(const std::string& key, const Untold& told,
                                const Deadline& deadline) noexcept
{
    try {
        auto found = lock_existing(key, deadline);
        if (found && told.remove_from(found->record)) {
            registry_.put(key, found->record);
            renew_machine_here(key, found->record);
        }
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

void MachineKeeper::keep_for_next(const std::string& key, const std::vector<std::string>& notices,
                                  const Deadline& deadline) noexcept
{
    try {
        if (auto found = lock_existing(key, deadline)) {
            keep_untold(found->record, notices);
            registry_.put(key, found->record);
            renew_machine_here(key, found->record);
        }
    } catch (const std::exception&) {
        return; // as of a server that was killed
    }
}

std::string MachineKeeper::why_ended(const std::string& key, const Seen& seen) noexcept
{
    const auto told = [](Event event) { return std::string(next(State::running, event)->why); };
    try {
        const auto record = registry_.find(key);
        if (!record) {
            return registry_.was_erased(key) ? std::string(deleted_or_given) : std::string();
        }
        if (only_waits(*record)) {
            return told(Event::purge);
        }
        if (record->machine.generation != seen.generation) { // another server was quicker
            const auto found = std::ranges::find(record->past, seen.generation,
                                                 &decltype(record->past)::value_type::first);
            if (found != record->past.end()) {
                return found->second;
            }
            // One elsewhere whose home has vanished counts on.
            const bool is_purged = seen.is_of_session_before(*record) && !record->found_home &&
                                   (backend_.is_bound_to_host() || record->epoch <= seen.epoch) &&
                                   !registry_.is_shared(); // which may have lost it
            return is_purged ? told(Event::purge) : std::string();
        }
        if (record->purging) {
            return told(Event::purge);
        }
        if (record->state == State::ended) {
            return record->why;
        }
        return record->ending ? told(Event::end) : std::string();
    } catch (const std::exception&) {
        return {};
    }
}

std::optional<protocol::OnDisconnect>
MachineKeeper::on_disconnect_of(const std::string& key,
                                const std::string& generation) const noexcept
{
    try {
        const auto record = registry_.find(key);
        return record && record->machine.generation == generation && record->made_with
                   ? std::optional(record->made_with->on_disconnect)
                   : std::nullopt;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

void MachineKeeper::save_due(const std::string& key, const std::stop_token& stop, Ended& result)
{
    const auto is_due = [&](const Record& record) {
        return has_no_machine(record) && owes_files(record) && is_ours(record) &&
               is_confirmed(key, record);
    };
    const auto seen = registry_.find(key);
    if (!seen || !is_due(*seen)) {
        return;
    }
    auto found = lock_existing(key, Deadline::after({}));
    if (found && is_due(found->record)) {
        save(key, found->record, stop, *found->lock, result);
    }
}

/// Of what has been done already: where the books cannot be told of it, whoever asked for it is
/// told both. Throws Error(busy) where the right to write there has passed on.
void MachineKeeper::note(const std::string& key, const Record& record, Ended& result)
{
    try {
        registry_.put(key, record);
        renew_machine_here(key, record);
        result.unnoted.reset();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::busy) {
            throw;
        }
        result.unnoted = error;
    }
}

/// Under the session's lock, of a record without a machine. What comes of it is in the books.
/// Throws Error where all is saved, and the machine that it was done in does not end.
void MachineKeeper::save(const std::string& key, Record& record, const std::stop_token& stop,
                         const Registry::Hold& lock, Ended& result)
{
    std::optional<sandbox::MachineRecord> made;
    const auto folder = record.saving.folder;
    try {
        auto saved = save_from_home(key, record, stop, lock, made);
        require_held(lock);
        record.saving = {
            .due = false, .begun = made.has_value(), .folder = saved.folder, .trouble = {}};
        result.saved = std::move(saved);
    } catch (const std::exception& error) {
        require_held(lock); // else it is another's to write of
        const auto* known = dynamic_cast<const Error*>(&error);
        record.saving.begun = made.has_value();
        record.saving.folder = folder; // nothing has come into one that was chosen now
        if (!stop.stop_requested()) {  // else nothing is the matter but that this server ends
            record.saving.trouble = error.what();
        }
        result.trouble = error.what();
        result.remedy = known != nullptr ? known->hint() : std::string();
    }
    // Before that machine is ended: what is saved is not saved again, whatever becomes of it. On a
    // disk that is full its end makes room to note both.
    note(key, record, result);
    if (made) {
        end_saving(key, record, *made, result, lock);
    }
}

void MachineKeeper::end_saving(const std::string& key, Record& record,
                               const sandbox::MachineRecord& made, Ended& result,
                               const Registry::Hold& lock)
{
    try {
        destroy(made, made.made_home, lock);
    } catch (const std::exception& error) {
        if (!result.saved) {
            return; // that is told; whoever clears up next ends what `begun` says is there
        }
        const auto& folder = result.saved->folder;
        throw Error(ErrorCode::backend_error,
                    "session " + record.id.session + " has ended, and what it leaves is saved" +
                        (folder.empty() ? "" : " at " + folder + " of the workspace") +
                        ", but the machine that did it does not end: " + error.what(),
                    "`berth sessions gc` ends it.");
    }
    record.saving.begun = false;
    note(key, record, result);
}

/// Before anything is saved the books have where to: whoever does it again, since this server was
/// killed or could not note that it is done, replaces it there.
Leaving MachineKeeper::begin_saving(const std::string& key, Record& record)
{
    Leaving leaving{.id = record.id,
                    .key = key,
                    .what = record.made_with->save_on_end,
                    .folder = record.saving.folder,
                    .is_first = record.saving.folder.empty()};
    if (leaving.is_first) {
        leaving.folder = settings_.choose_folder(leaving);
    }
    record.saving.folder = leaving.folder;
    record.saving.begun = true;
    registry_.put(key, record);
    return leaving;
}

/// `made`: the machine that it is done in, which the caller ends.
SavedFiles MachineKeeper::save_from_home(const std::string& key, Record& record,
                                         const std::stop_token& stop, const Registry::Hold& lock,
                                         std::optional<sandbox::MachineRecord>& made)
{
    const auto& what = record.made_with->save_on_end;
    if (!settings_.save || !settings_.choose_folder) {
        throw Error(ErrorCode::unsupported, "this program saves nothing to a workspace",
                    "End the session with `berth sessions kill`.");
    }
    if (registry_.is_shared() && what.workspace != settings_.save_on_end.workspace) {
        // Whoever can write to shared books must not have this server write where they say.
        throw Error(ErrorCode::unsupported,
                    "its files belong to the workspace " + what.workspace +
                        ", and this berth has another",
                    "Give it the same --workspace.");
    }
    if (const auto availability = backend_.availability(); !availability.available) {
        throw Error(ErrorCode::sandbox_unavailable, availability.reason, availability.remedy);
    }
    destroy(any_of(key, record), false, lock); // of a server that died while it did this
    if (!backend_.is_bound_to_host() &&
        (backend_.home_of(record.machine).empty() || backend_.is_gone(any_of(key, record)))) {
        // A machine made for it would be an empty one, whose number no book has.
        return {.session = record.id.session, .folder = {}, .files = 0, .bytes = 0, .skipped = {}};
    }
    const auto leaving = begin_saving(key, record);
    // It has nothing but the home: what its session was given says nothing of it.
    auto spec = fresh_spec(key, record.id.session, lock);
    spec.home = backend_.home_of(record.machine);
    spec.limits = record.made_with->limits;
    spec.limits.quota = 0; // nothing is written
    spec.ends_with_server = true;
    auto machine = backend_.create(spec);
    made = machine->record();
    made->data["key_hash"] = key;
    try {
        const TimedStop timed(save_time, stop);
        sandbox::Sandbox sandbox(std::move(machine), spec.token);
        auto saved = settings_.save(sandbox, leaving, timed.token());
        saved.session = record.id.session;
        return saved;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled && !stop.stop_requested()) {
            throw Error(ErrorCode::backend_error,
                        "it was not done in " + std::to_string(save_time.count()) + " minutes",
                        "Name less in session.save_on_end, or fewer and larger files.");
        }
        throw;
    }
}

} // namespace berth::session
