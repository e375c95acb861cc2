#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/session/untold.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// A machine that nobody uses gives way to one that is made as a server asks (docs/adr/0020).

namespace berth::session {
namespace {

constexpr std::chrono::seconds last_words_time{2};
/// Of one elsewhere: its host is as slow as it is, and to ask again takes time too.
constexpr std::chrono::seconds far_words_time{15};
/// Of one that sleeps: with its wake given up it would be ended as one that sleeps, which is to
/// leave it alone, and its host would have it run on, with its jobs, for nobody.
constexpr std::chrono::seconds wake_time{60};
constexpr std::chrono::seconds look_time{5};

/// What the guest would refuse for, so that nobody else is asked. `attends`: an agent that began a
/// job asks for it now and then; with the machine it would be gone. `refused`: it cannot ask, as no
/// call is let through to that machine any more, and is told what it printed instead.
bool is_busy(const protocol::InfoReply& info, bool attends, bool refused)
{
    // Asked first: what nobody was told of, once it is taken from a guest that another server goes
    // on with, that one would tell nobody. (A server that attends has connections of its own.)
    if (!attends && info.pause && info.pause->clients > 0) {
        return true;
    }
    const bool unread = std::ranges::any_of(info.ended, &protocol::JobEntry::unread);
    return info.calls > 0 || !info.jobs.empty() || (attends && unread && !refused);
}

/// A guest of an earlier release refuses while anything runs, or knows of no such request, and the
/// answer of one that ends may be lost: where nobody is there it is ended all the same. False:
/// somebody is there by now.
bool retire_or_leave(sandbox::Sandbox& left)
{
    bool answered = false;
    try {
        if (left.retire(/*with_jobs=*/true)) {
            return true;
        }
        answered = true;
    } catch (const std::exception&) {
        answered = false;
    }
    try {
        const auto info = left.look(Deadline::after(look_time));
        return !info.pause || info.pause->clients == 0;
    } catch (const std::exception&) {
        return !answered;
    }
}

/// What is told of a machine that ends with what runs there; `running`: as it was before `last` was
/// asked for, and of jobs that have ended since `last` knows better.
void keep_last(Record& record, const LastNotices& last, std::vector<std::string> running)
{
    if (!last.untold.empty()) {
        keep_untold(record, {last.untold});
    }
    drop_of_same_jobs(running, last.told);
    keep_untold(record, running);
}

std::string sentences(std::string what, const std::string& hint)
{
    if (!hint.empty()) {
        what.append(". ").append(hint);
    }
    return what;
}

std::chrono::seconds time_for_words(const sandbox::Machine& machine)
{
    if (machine.may_sleep()) {
        return wake_time;
    }
    return machine.reach().kept ? last_words_time : far_words_time;
}

} // namespace

/// Whether this server could, and should, put another machine in its place.
bool MachineKeeper::is_outdated(const Record& record)
{
    return record.state == State::running && !record.ending && record.made_with &&
           is_ours(record) && backend_.renews_machines() &&
           need_another(settings_, *record.made_with) && backend_.availability().available;
}

/// As far as can be told: a machine must not end for one that is refused.
bool MachineKeeper::may_make_another(const Wanted& wanted) const
{
    try {
        (void)admission_.enter(wanted.id, wanted.key);
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) {
            throw;
        }
        return false;
    }
}

/// What this server has of that machine, if it has.
std::shared_ptr<sandbox::Sandbox> MachineKeeper::held_of(const Wanted& wanted, const Record& record)
{
    const auto& held = wanted.held;
    return held && held->machine().record().generation == record.machine.generation ? held
                                                                                    : nullptr;
}

/// The one by which this server is a client, if it is: to its guest whoever asks is none.
std::shared_ptr<sandbox::Sandbox> MachineKeeper::sandbox_to_retire(const Wanted& wanted,
                                                                   const Record& record)
{
    if (auto held = held_of(wanted, record)) {
        return held;
    }
    auto machine = backend_.attach(record.machine);
    return machine ? std::make_shared<sandbox::Sandbox>(std::move(machine), record.token) : nullptr;
}

/// Why the machine that is asked for cannot be made in the place of the present one, which would
/// have ended for nothing; empty: nothing is known to be in its way.
std::string MachineKeeper::obstacle_to(const Wanted& wanted, const Record& record,
                                       const Registry::Hold& lock) const
{
    try {
        if (settings_.make_workspace) {
            settings_.make_workspace();
        }
        const auto found = backend_.can_make(specify(wanted, record, lock));
        return found.available ? "" : sentences(found.reason, found.remedy);
    } catch (const Error& error) {
        return sentences(error.what(), error.hint());
    }
}

/// Nobody loses anything by it but what was outside of the home: whoever still works there keeps
/// the machine as it is, and what nobody was told of is told now, with what it printed.
bool MachineKeeper::retire(const Wanted& wanted, Record& record, const Registry::Hold& lock,
                           std::string& obstacle)
{
    LastNotices last;
    const bool refused = !excess(settings_, *record.made_with).empty(); // require_no_excess()
    bool ended = false;
    try {
        if (const auto sandbox = sandbox_to_retire(wanted, record)) {
            const auto info = sandbox->look(Deadline::after(look_time));
            if (is_busy(info, held_of(wanted, record) != nullptr, refused) ||
                !may_make_another(wanted)) {
                return false;
            }
            obstacle = obstacle_to(wanted, record, lock);
            if (!obstacle.empty()) {
                return false;
            }
            last = take_last_notices(wanted.key, record, *sandbox,
                                     refused ? LastOf::or_unread : LastOf::untold, /*ends=*/false);
            ended = sandbox->retire();
        }
    } catch (const std::exception&) {
        ended = false; // what is the matter with it the attempt to use it tells
    }
    if (!ended) {
        return false;
    }
    if (!last.untold.empty()) {
        keep_untold(record, {last.untold});
    }
    end_retired(wanted.key, record, Event::retired, lock);
    return true;
}

void MachineKeeper::end_left(const std::string& key, sandbox::Sandbox& left,
                             const Deadline& deadline)
{
    auto found = lock_existing(key, deadline);
    if (!found) {
        return;
    }
    auto& record = found->record;
    const auto& generation = left.machine().record().generation;
    if (record.state == State::running && !record.ending && is_ours(record) &&
        record.machine.generation == generation && retire_left(key, record, left)) {
        end_retired(key, record, Event::left, *found->lock);
    }
}

/// The guest has the last word, in one moment with its end: a call that comes later has not begun.
/// Whoever comes after the look is kept from it by the books until then.
bool MachineKeeper::retire_left(const std::string& key, Record& record, sandbox::Sandbox& left)
{
    const auto info = left.look(Deadline::after(look_time));
    if (info.pause && info.pause->clients > 0) {
        return false; // and tells what is untold himself
    }
    const auto last = take_last_notices(key, record, left, LastOf::untold, /*ends=*/true);
    const auto before = record.untold;
    keep_last(record, last, stopped_notices(info));
    note_ending(key, record, /*purge=*/false);
    const bool ended = retire_or_leave(left);
    if (!ended) {
        record.untold = before;
        record.ending = false;
        registry_.put(key, record);
    }
    return ended;
}

/// What it occupied is there until then, and with it the guest's note of why it ended.
void MachineKeeper::end_retired(const std::string& key, Record& record, Event why,
                                const Registry::Hold& lock)
{
    apply(record, why);
    record.ending = true;
    registry_.put(key, record);
    destroy(record.machine, false, lock);
    record.ending = false;
    registry_.put(key, record);
}

/// For the guest they count as told once it is asked what they printed, whatever comes: so they are
/// in the books before, without that, for a server that dies meanwhile. `ends`: the machine does so
/// whatever comes, also where there is no room in the books before it has.
LastNotices MachineKeeper::take_last_notices(const std::string& key, Record& record,
                                             sandbox::Sandbox& sandbox, LastOf which, bool ends)
{
    const auto note = [&] {
        if (ends) {
            put_before_removal(key, record);
        } else {
            registry_.put(key, record);
        }
    };
    const auto info = sandbox.info();
    auto last = last_notices(info, which);
    if (last.told.empty()) {
        return last;
    }
    const auto before = record.untold;
    keep_untold(record, last.told);
    note();
    add_what_was_printed(last, info, sandbox, which);
    record.untold = before;
    keep_untold(record, last.told);
    note();
    return last;
}

/// Of a machine that is about to be ended, whoever uses it: what nobody was told of. One that does
/// not answer ends as it is.
void MachineKeeper::keep_last_words(const std::string& key, Record& record,
                                    const Registry::Hold& lock)
{
    try {
        take_last_words(key, record, /*ends=*/true);
    } catch (const std::exception&) {
        require_held(lock); // else it is ended all the same
    }
}

/// The same, where it goes on if that fails.
void MachineKeeper::take_last_words(const std::string& key, Record& record, bool ends)
{
    auto machine = backend_.attach(record.machine);
    if (!machine) { // it has ended itself, and nobody has noticed yet
        keep_noted_words(record, backend_);
        return;
    }
    const auto time = time_for_words(*machine);
    sandbox::Sandbox sandbox(std::move(machine), record.token);
    auto running = stopped_notices(sandbox.look(Deadline::after(time)));
    const auto last = take_last_notices(key, record, sandbox, LastOf::untold, ends);
    keep_last(record, last, std::move(running));
}

} // namespace berth::session
