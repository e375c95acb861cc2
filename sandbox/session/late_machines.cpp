// The part of the keeper for machines that came to nothing, and for those that come when nobody
// waits for them any more: of a creation whose server was killed, or that was given up, a backend
// that is far may still make one.

#include "sandbox/left_behind.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace berth::session {
namespace {

using Clock = std::chrono::system_clock;

/// E2B gives up after 70 s. Whoever looks after that has seen all that can come.
constexpr std::chrono::minutes late_time{5};
/// Of one session; of more the oldest are over, or somebody kills servers in a row.
constexpr std::size_t most_late = 16;

/// In the books, which are told by it: as Transition::why.
constexpr const char* waits_why = "it was removed while its sandbox was being made: one that still "
                                  "comes is ended, then this goes";

/// Also where the clock was set back.
bool is_over(Clock::time_point since, Clock::time_point now)
{
    return now - since >= late_time || since - now >= late_time;
}

/// Whether nobody waits for it any more, by the books.
bool is_late(const Record& record, const std::string& generation)
{
    return std::ranges::any_of(record.late,
                               [&](const auto& late) { return late.first == generation; });
}

} // namespace

/// Of a machine that was made for nothing. Throws sandbox::LeftBehind where something of it stays.
/// One in a home that was there before is ended for as long as the lock holds: then another may be
/// made in it. A home of its own, and one that is found by its key, nobody else has.
void MachineKeeper::undo(const sandbox::MachineRecord& machine, bool purge,
                         const Registry::Hold& lock)
{
    const bool own = backend_.is_bound_to_host() || machine.made_home;
    try {
        backend_.destroy_while(
            machine, purge, own ? sandbox::Right() : [&] { require_held(lock); });
    } catch (const Error& error) {
        throw sandbox::LeftBehind(error);
    }
}

/// The machine that was wanted came to nothing. What is kept was used all the same: a host that
/// makes none for a week must not find the homes removed when it does again.
void MachineKeeper::roll_back(const std::string& key, std::optional<Record> before,
                              const Registry::Hold& lock) noexcept
{
    try {
        require_held(lock);
        // One that only waited for what may still come waits for nothing any more.
        if (before && !(only_waits(*before) && before->late.empty())) {
            begin_keeping(key, *before);
            registry_.put(key, *before);
        } else {
            forget(key);
        }
    } catch (const std::exception&) {
        // What stays says "creating": the next server clears it up.
        return;
    }
}

/// Of a record that says "creating", under the session's lock: nobody makes it any more. Where
/// machines are bound to no host such a record may have come back, and nobody can tell what was
/// made from what has been used since, with all its files. So that becomes the session's home: of a
/// creation that did come to nothing the next machine is made in it. False: there is none, or
/// whoever made it has said that it came to nothing.
bool MachineKeeper::keep_made_home(const std::string& key, Record& record)
{
    if (is_late(record, record.machine.generation)) {
        return false;
    }
    auto home = backend_.home_made_by(machine_of_key(key, record));
    if (home.empty()) {
        return false;
    }
    record.machine.home = std::move(home);
    return true;
}

void MachineKeeper::settle_creation(const std::string& key, Record& record,
                                    const Registry::Hold& lock)
{
    apply(record, record.ending ? Event::end : Event::gone);
    if (is_old(key, record)) {
        return; // what the key occupies is a later machine's, and may live
    }
    const bool keeps = keep_made_home(key, record);
    destroy(machine_of_key(key, record), false, lock);
    if (!keeps) {
        note_late(record);
    }
}

/// As keep_made_home(), of what is not to be kept, or has not come yet.
void MachineKeeper::note_late(Record& record) const
{
    const auto& generation = record.machine.generation;
    if (backend_.is_bound_to_host() || generation.empty() || is_late(record, generation)) {
        return; // here it is known at once
    }
    if (record.late.size() >= most_late) {
        record.late.erase(record.late.begin());
    }
    record.late.emplace_back(generation, Clock::now());
}

/// Of a creation that has left something, under the session's lock. Where that cannot be written
/// what is left is taken for what may have been used.
void MachineKeeper::give_up(const std::string& key, const std::string& generation) noexcept
{
    try {
        auto record = registry_.find(key);
        if (record && record->state == State::creating &&
            record->machine.generation == generation) {
            note_late(*record);
            registry_.put(key, *record);
        }
    } catch (const std::exception&) {
        return;
    }
}

/// Under the session's lock. True: the record has changed.
bool MachineKeeper::end_late(const std::string& key, Record& record, const Registry::Hold& lock)
{
    bool away = false; // the others would be waited for as long, one after the other
    const auto ended = std::erase_if(record.late, [&](const auto& late) {
        if (away) {
            return false;
        }
        const auto& [generation, since] = late;
        const bool last = is_over(since, Clock::now()); // before it is looked for
        auto machine = machine_of_key(key);
        machine.generation = generation;
        require_held(lock);
        try {
            destroy(machine, /*purge=*/true, lock);
        } catch (const std::exception&) {
            away = true; // it was not looked for
            return false;
        }
        return last;
    });
    return ended > 0;
}

/// It has nothing but numbers to be looked for. Listed, since it can keep what costs money.
bool MachineKeeper::only_waits(const Record& record) noexcept
{
    return record.why == waits_why && record.state == State::ended;
}

/// Of a session that is to be forgotten, under its lock: not before what may come of it is ended.
void MachineKeeper::forget_unless_late(const std::string& key, Record& record,
                                       const Registry::Hold& lock)
{
    const bool changed = end_late(key, record, lock);
    if (record.late.empty()) {
        forget(key);
        return;
    }
    if (only_waits(record) && !changed) {
        return;
    }
    record.state = State::ended;
    record.why = waits_why;
    record.ending = false;
    record.epoch = 0; // who uses the key next misses nothing of it
    record.saving = {};
    record.news.clear(); // of what was deleted, as all that was untold
    record.untold.clear();
    record.machine = machine_of_key(key);
    record.machine.generation = record.late.back().first;
    record.created = Clock::now();
    registry_.put(key, record);
}

/// Does not wait: throws Error(busy).
void MachineKeeper::settle_late(const std::string& key)
{
    auto found = lock_existing(key, Deadline::after({}));
    if (!found || found->record.late.empty() || found->record.state == State::creating) {
        return; // of the last, whoever clears it up sees to that
    }
    auto& record = found->record;
    if (only_waits(record)) {
        forget_unless_late(key, record, *found->lock);
    } else if (end_late(key, record, *found->lock)) {
        registry_.put(key, record);
    }
}

} // namespace berth::session
