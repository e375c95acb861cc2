// The part of the keeper that removes what dead servers and machines have left.

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/machine_end.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/retention.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace berth::session {
namespace {

/// Whether it is the machine of that record, or one that its home was with: the record may know
/// more of that. A creation that somebody has sent twice has made two of one number.
bool is_named_by(const sandbox::Backend& backend, const Record& record,
                 const sandbox::MachineRecord& machine)
{
    const auto& known = record.machine.home;
    const bool unknown = record.state == State::creating ||
                         (record.machine.id.empty() && record.machine.home.empty());
    return (record.machine.generation == machine.generation &&
            (unknown || backend.is_same_id(record.machine.id, machine.id))) ||
           (!machine.home.empty() && std::ranges::all_of(machine.home, [&](const auto& part) {
               const auto found = known.find(part.first);
               return found != known.end() && found->second == part.second;
           }));
}

} // namespace

/// The first machine was never ready: nobody has lost anything. Epoch 0 is that of one whose
/// remains were collected (and of a record that a power loss emptied, which has no generation
/// either).
bool MachineKeeper::is_unused(const Record& record)
{
    return (record.state == State::creating && record.epoch == 1) ||
           (record.epoch == 0 && !record.machine.generation.empty());
}

void MachineKeeper::drop_unused(const std::string& key) noexcept
{
    try {
        if (registry_.find(key)) {
            return;
        }
        const auto lock = this->lock(key, Deadline::after({}));
        // Where books are elsewhere they may have lost a session of this host, which is in them
        // again by what would be removed.
        if (!registry_.find(key) && !lives_here(key) && !has_copy(key)) {
            forget(key);
        }
    } catch (const std::exception&) {
        return; // damaged or in use by another: then it is not unused
    }
}

std::vector<std::string> MachineKeeper::abandoned() const
{
    auto keys = registry_.abandoned();
    if (registry_.is_shared()) { // which forget by themselves, and not what this host has
        for (auto& key : host_.bare()) {
            keys.push_back(std::move(key));
        }
    }
    return keys;
}

void MachineKeeper::drop_abandoned(const std::string& key) noexcept
{
    try {
        // In books of files a claim would stay there, and say that it was an unnamed session's.
        if (lives_here(key)) {
            return;
        }
        // Whoever is just beginning has one of the two.
        if (const auto claim = registry_.claim(key)) {
            drop_unused(key);
        }
    } catch (const std::exception&) {
        return; // the next one that clears up tries again
    }
}

std::optional<MachineKeeper::Locked> MachineKeeper::lock_existing(const std::string& key,
                                                                  const Deadline& deadline)
{
    auto lock = this->lock(key, deadline);
    if (auto record = registry_.find(key)) {
        return Locked{.lock = std::move(lock), .record = latest(key, *std::move(record))};
    }
    // Not the claim of an unnamed session's server that is just beginning.
    if (const auto claim = registry_.claim(key); claim && !lives_here(key) && !has_copy(key)) {
        forget(key);
    }
    return std::nullopt;
}

std::vector<std::string> MachineKeeper::unsure_homes() const
{
    return are_books_elsewhere() ? host_.occupied() : std::vector<std::string>();
}

bool MachineKeeper::record_home(const std::string& key)
{
    const auto home = backend_.find_home(key);
    const auto is_lost = [&] { return !registry_.find(key) && !lives_here(key); };
    try {
        if (home.empty() || !is_lost()) {
            return false;
        }
    } catch (const DamagedRecord&) {
        return false; // that is one
    }
    // An unnamed session's server, which is just making its machine or ending it, has that.
    const auto claim = registry_.claim(key);
    if (!claim) {
        return false;
    }
    const auto lock = this->lock(key, Deadline::after({}));
    if (!is_lost()) {
        return false;
    }
    Record record;
    record.id.session = key;
    record.state = State::ended;
    record.why = "the books of the sessions had lost its record, and its home was found";
    record.machine = machine_of_key(key);
    record.machine.data["home"] = home;
    auto& made = record.made_with.emplace(settings_);
    made.home_retention = usual_retention(settings_);
    made.own_retention = false;
    record.created = host_.last_noted(key);
    record.last_used = record.created;
    record.found_home = true;
    record.owner = own_name(settings_);
    record.place = settings_.place;
    begin_keeping(key, record);
    registry_.put(key, record);
    return true;
}

bool MachineKeeper::is_ours(const Record& record) const
{
    const auto& own = settings_.place;
    return record.machine.backend == backend_.name() && !is_elsewhere(own, record) &&
           (!own || !record.place || own->state_directory == record.place->state_directory);
}

/// A claim in shared books lapses when its server cannot reach them; the machine of an unnamed
/// session ends with its server and with nothing else. One that nobody else ends would sleep for
/// ever behind a server that was killed: not used for so long, it has no server.
bool MachineKeeper::outlives_its_claim(const std::string& key, const Record& record) const
{
    const auto is_used = [&] {
        return record.state == State::running && !backend_.is_gone(record.machine) &&
               (backend_.ends_machines() || !is_unused_for(record, settings_.ttl));
    };
    return (are_books_elsewhere() && lives_here(key)) || (registry_.is_shared() && is_used());
}

MachineKeeper::Checked MachineKeeper::check(Record& record) const
{
    Checked checked;
    if (auto kept = kept_later(record)) {
        record = *std::move(kept);
    }
    if (record.state != State::running || record.machine.backend != backend_.name() ||
        is_elsewhere(settings_.place, record)) {
        return checked;
    }
    try {
        checked.machine = backend_.attach(record.machine);
        const auto key = record.machine.data.find("key_hash");
        const bool has_key = key != record.machine.data.end();
        if (checked.machine || (has_key && take_end_kept_here(key->second, record))) {
            return checked;
        }
        if (is_behind_another(record)) {
            checked.trouble = "its state directory is another, and this one has a home of its key";
        } else {
            apply(record, gone_event(record, settings_.ttl, false, backend_.parting(record.machine),
                                     backend_.is_bound_to_host()));
        }
    } catch (const std::exception& error) { // cannot be told now: the books stand
        checked.trouble = error.what();
    }
    return checked;
}

/// Of a machine that is running by the books, and gone.
void MachineKeeper::settle_gone(const std::string& key, Record& record, bool attended,
                                const Registry::Hold& lock)
{
    const bool bound = backend_.is_bound_to_host();
    const auto parting = backend_.parting(record.machine);
    apply(record, gone_event(record, settings_.ttl, attended, parting, bound));
    const auto before = record.untold;
    keep_noted_words(record, backend_);
    record.ending = true; // what it occupied is there, with the guest's note, which goes first
    if (record.untold != before) {
        // Nobody asked for it: without room for what the guest has noted that stays where it is.
        registry_.put(key, record);
    } else {
        put_before_removal(key, record);
    }
    if (record.state == State::lost && settings_.on_lost && (!bound || used_since_boot(record))) {
        settings_.on_lost(record.id.session);
    }
    destroy(record.machine, false, lock);
}

/// Of another state directory, where this one has a home of the same key: its machine is looked for
/// here, and cannot be found.
bool MachineKeeper::is_behind_another(const Record& record) const
{
    const auto key = record.machine.data.find("key_hash");
    return !is_ours(record) && key != record.machine.data.end() &&
           !backend_.find_home(key->second).empty();
}

/// Books that lost a session of this host while no berth ran here know another of that name by now,
/// from where nobody could know of this one.
Ended MachineKeeper::hidden_by(const std::string& key, const Record& other) const
{
    const auto where =
        other.place ? visible(other.place->host) + ", in " + visible(other.place->state_directory)
                    : std::string("another backend");
    Ended hidden;
    hidden.trouble = "session " + visible(other.id.session) + " has a home here too, " +
                     visible(backend_.find_home(key)) +
                     (lives_here(key) ? ", and a machine that lives" : "") +
                     ", of which the books do not know: they have the one on " + where;
    hidden.remedy = "`berth sessions adopt " + key +
                    " --session OTHER --end-machine` there gives that one another name, and this "
                    "one is in the list again, to be used or purged";
    return hidden;
}

Ended MachineKeeper::collect(const std::string& key, AtEnd files, const std::stop_token& stop)
{
    const auto record = registry_.find(key);
    if (!record || !is_ours(*record)) {
        return record && has_copy(key) ? hidden_by(key, *record) : Ended();
    }
    host_.sweep(key);
    Ended result;
    if (!record->late.empty()) {
        settle_late(key);
    }
    if (only_waits(*record)) {
        return result;
    }
    if (record->unnamed) {
        const bool waits = has_no_machine(*record) && owes_files(*record) && files == AtEnd::leave;
        return waits ? Ended() : collect_unnamed(key, *record, files, stop);
    }
    result.ended = (has_died(*record) && settle_dead(key)) || settle_adoption(key) ||
                   end_forgotten(key, *record);
    if (files == AtEnd::save) {
        save_due(key, stop, result);
    }
    return result;
}

/// A machine that nobody else ends, and that its host keeps for as long as it is paid for.
bool MachineKeeper::end_forgotten(const std::string& key, const Record& record)
{
    const auto is_forgotten = [&](const Record& now) {
        const auto retention = retention_of(settings_, now);
        const auto ttl = now.made_with ? now.made_with->ttl : settings_.ttl;
        // It sleeps some time after its last use: no more than an hour, and what E2B lets a job
        // run.
        constexpr std::chrono::hours awake{25};
        return now.state == State::running && !now.ending && retention &&
               std::chrono::system_clock::now() - now.last_used > ttl + *retention &&
               is_unused_for(now, std::max<std::chrono::seconds>(ttl + *retention - awake,
                                                                 (ttl + *retention) / 2));
    };
    return !backend_.ends_machines() && is_forgotten(record) &&
           end(key, {.purge = true, .files = AtEnd::leave, .condition = is_forgotten}).ended;
}

/// Whether a session has it by another key than it was made for, after an adoption. Asked only of
/// what nobody knows by its own, since it takes all records.
bool MachineKeeper::is_of_another(const sandbox::MachineRecord& machine)
{
    return std::ranges::any_of(registry_.keys(), [&](const std::string& key) {
        try {
            const auto record = registry_.find(key);
            return record && is_named_by(backend_, *record, machine);
        } catch (const DamagedRecord&) {
            return true; // it may be this one's
        }
    });
}

/// Looked at before the lock too, which makes a folder for its key. Under it nobody makes a
/// machine, and a record with the number of each is there before the machine is.
bool MachineKeeper::end_stray(const sandbox::FoundMachine& found,
                              std::optional<std::chrono::seconds> instead)
{
    const auto retention = usual_retention(settings_);
    const auto longest = instead.value_or(settings_.ttl + retention);
    if ((!instead && retention == std::chrono::seconds(0)) || found.slept < longest) {
        return false;
    }
    const auto& key = found.record.data.at("key_hash");
    const auto is_known = [&] {
        const auto record = registry_.find(key);
        return record && is_named_by(backend_, *record, found.record);
    };
    if (!is_key(key) || is_known() || is_of_another(found.record)) {
        return false;
    }
    {
        const auto lock = this->lock(key, Deadline::after({}));
        // It may have been woken, or taken over by its id, since it was listed.
        const auto unused = backend_.unused_for(found.record);
        if (is_known() || is_of_another(found.record) || !unused || *unused < longest) {
            return false;
        }
        destroy(found.record, /*purge=*/true, *lock);
    }
    drop_unused(key);
    return true;
}

/// Of a machine that is being made it may only be asked under the session's lock.
bool MachineKeeper::has_died(const Record& record) const
{
    return record.state == State::creating || record.saving.begun || record.ending ||
           (record.state == State::running && backend_.is_gone(record.machine));
}

/// By a server that has the books' data of before it was, and wrote them again where they were
/// lost: its host has removed all there was of it.
bool MachineKeeper::is_purged_here(const std::string& key, const Record& record) const
{
    return are_books_elsewhere() && !record.mark.empty() && host_.mark(key).empty() &&
           !lives_here(key) && backend_.find_home(key).empty();
}

bool MachineKeeper::settle_dead(const std::string& key)
{
    // Whoever makes or ends the machine has the lock until its record says so.
    auto found = lock_existing(key, Deadline::after({}));
    if (!found || !is_ours(found->record) || !has_died(found->record)) {
        return false;
    }
    auto& record = found->record;
    if (is_purged_here(key, record)) {
        forget(key);
        return true;
    }
    const bool unused = is_unused(record);
    const auto home = record.machine.home;
    settle(key, record, false, *found->lock);
    if (unused && record.machine.home == home) {
        record.epoch = 0;
    }
    registry_.put(key, record);
    renew_machine_here(key, record);
    return true;
}

} // namespace berth::session
