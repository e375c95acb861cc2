// The part of the keeper that gives the home of one session to another: docs/adr/0023-adopt.md.

#include "sandbox/base/visible.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/occupation.hpp"
#include "sandbox/session/record_state.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace berth::session {
namespace {

constexpr std::chrono::seconds attended_time{2};

std::string name_of(const std::string& key, const std::optional<Record>& record)
{
    return record && !record->id.session.empty() ? visible(record->id.session) : key;
}

[[noreturn]] void refuse_in_use(const std::string& name, const std::string& why,
                                const std::string& remedy)
{
    throw Error(Error(ErrorCode::busy, "session " + name + " is in use: " + why, remedy)
                    .set_retryable(true));
}

constexpr const char* jobs_hint =
    "A machine cannot change its name; --end-machine ends it, with its jobs. Its home is what is "
    "taken over.";

[[noreturn]] void refuse_untold(const std::string& name, const std::string& why)
{
    refuse_in_use(name, "its machine does not say that it is not: " + why,
                  "`berth sessions kill " + name +
                      "` ends it as it is, and keeps its home; then adopt that.");
}

/// Nobody but its server could ever have the home of an unnamed one.
bool may_be_attended(const Record& record, const Adoption& adoption)
{
    return record.unnamed && adoption.end_machine;
}

/// Throws where somebody works there.
void require_nobody(const Record& record, const Adoption& adoption, const protocol::InfoReply& info)
{
    const auto name = visible(record.id.session);
    if (!info.pause && !may_be_attended(record, adoption)) {
        refuse_untold(name, "its release does not know who is connected");
    }
    const bool attended = info.pause && info.pause->clients > 0;
    if (info.calls > 0 || (attended && !record.unnamed)) {
        refuse_in_use(name, occupation(info),
                      "Close the client that uses it, or `berth sessions kill " + name +
                          "`, then adopt it.");
    }
}

/// The same where nothing runs there either, unless that may be ended.
void require_no_work(const Record& record, const Adoption& adoption,
                     const protocol::InfoReply& info)
{
    require_nobody(record, adoption, info);
    if (!adoption.end_machine && !info.jobs.empty()) {
        refuse_in_use(visible(record.id.session), occupation(info), jobs_hint);
    }
}

/// What nobody was told of is taken from its guest before the machine ends: of one that will not,
/// its own server would tell it nobody any more.
void require_nobody_yet(const Record& record, const Adoption& adoption, sandbox::Sandbox& sandbox)
{
    protocol::InfoReply info;
    try {
        info = sandbox.look(Deadline::after(attended_time));
    } catch (const std::exception&) {
        return; // nor can anything be taken from it
    }
    require_no_work(record, adoption, info);
}

} // namespace

/// Those of both keys, in the order of the keys: two that want each other's wait for one another
/// and not for ever.
MachineKeeper::BothLocks MachineKeeper::lock_both(const std::string& from, const std::string& to,
                                                  const Deadline& deadline) const
{
    BothLocks locks;
    auto& first = from < to ? locks.from : locks.to;
    auto& second = from < to ? locks.to : locks.from;
    first = lock(std::min(from, to), deadline);
    second = lock(std::max(from, to), deadline);
    return locks;
}

Adopted MachineKeeper::adopt(const std::string& from, const Adoption& adoption)
{
    const auto to = key_hash(adoption.to);
    if (from == to) {
        throw Error(ErrorCode::invalid_argument, "that is the session which shall have it",
                    "Give the new name with --session.");
    }
    finish_begun(from); // which may be another's by then, and forgotten
    if (const auto seen = registry_.find(to); seen && seen->adopting != from) {
        if (!seen->adopting.empty()) {
            finish_begun(to);
        } else { // whoever makes it just now need not be waited for
            require_free(to, seen, adoption.to);
        }
    }
    try {
        const auto locks = lock_both(from, to, adoption.deadline);
        return adopt(from, to, adoption, locks);
    } catch (...) {
        drop_unused(from); // the locks have made folders
        drop_unused(to);
        throw;
    }
}

Adopted MachineKeeper::adopt(const std::string& from, const std::string& to,
                             const Adoption& adoption, const BothLocks& locks)
{
    const auto target = registry_.find(to);
    const bool begun = target && target->adopting == from; // by one that has died
    const bool has_home = !backend_.find_home(to).empty();
    if (begun && has_home) {
        finish_adoption(to, *target);
        if (backend_.find_home(from).empty()) { // else one of them was made anew meanwhile
            return {.from = {}, .key = to, .home = backend_.find_home(to), .ended_machine = false};
        }
    }
    if (!begun || has_home) {
        require_free(to, target, adoption.to);
    }
    auto found = registry_.find(from);
    if (found) {
        require_adopted(*found);
        found = latest(from, *std::move(found));
    }
    require_owner(from, found, adoption);
    Adopted adopted{.from = found ? found->id : SessionId(), .key = to, .home = {}};
    adopted.ended_machine = end_for_adoption(from, found, adoption, *locks.from);
    if (!has_home_of(from, found)) {
        throw Error(ErrorCode::not_found, "session " + name_of(from, found) + " has no home here",
                    "`berth sessions list` shows those there are.");
    }
    Record record = record_of_adopted(from, found, adoption.to);
    record.why +=
        adopted.ended_machine ? ", whose machine was ended for it" : ", whose machine had ended";
    mark(to, record);
    // Before the home is moved: whoever finds it knows where that may be, and finishes it.
    registry_.put(to, record);
    auto spec = fresh_spec(to, adoption.to.session, *locks.to);
    spec.home = record.machine.home;
    try {
        require_held(*locks.from);
        require_held(*locks.to);
        static_cast<void>(backend_.adopt(from, spec)); // null: its machine has ended
    } catch (...) {
        if (backend_.is_bound_to_host()) {
            finish_adoption(to, record); // it may have failed when the home was moved already
        } else {
            forget(to);
        }
        throw;
    }
    finish_adoption(to, record);
    adopted.home = backend_.find_home(to);
    return adopted;
}

/// On this host, or as the books have it where homes are of none.
bool MachineKeeper::has_home_of(const std::string& key, const std::optional<Record>& record) const
{
    return backend_.is_bound_to_host() ? !backend_.find_home(key).empty()
                                       : record && !backend_.home_of(record->machine).empty();
}

/// Under both locks: what is in the books of both follows what became of the home. That the new one
/// was adopting goes last: it is all that points at the old one, for who comes after one that died.
void MachineKeeper::finish_adoption(const std::string& to, Record record)
{
    const auto from = std::exchange(record.adopting, {});
    const auto home = backend_.find_home(to);
    if (backend_.is_bound_to_host() && home.empty()) {
        forget(to); // it was never moved
        return;
    }
    if (!home.empty()) {
        record.machine.data["home"] = home;
    }
    const auto old = registry_.find(from);
    if (!backend_.is_bound_to_host() && old && !has_no_machine(*old)) {
        forget(to); // whoever began this died, and the old one was used since: it has the home
        return;
    }
    if (!old || (has_no_machine(*old) && backend_.find_home(from).empty())) {
        forget(from);
    }
    registry_.put(to, record);
    renew_machine_here(to, record); // else shared books that lose it have a home and nothing of it
}

/// Before the new session is used, ended or forgotten, and with it what points at the old one.
void MachineKeeper::finish_begun(const std::string& to) noexcept
{
    try {
        (void)settle_adoption(to);
    } catch (const std::exception&) {
        return; // it is under way, or damaged: whoever has the lock next sees that
    }
}

/// Under lock(). Where a record alone says which home is whose, one that an adoption was broken off
/// for must not be used before that is settled: both sessions would have the same.
void MachineKeeper::require_adopted(const Record& record) const
{
    if (!record.adopting.empty() && !backend_.is_bound_to_host()) {
        throw Error(Error(ErrorCode::busy,
                          "session " + visible(record.id.session) +
                              " is just getting the home of another session, or was when that was "
                              "broken off",
                          "Try again in a few seconds: that is settled first.")
                        .set_retryable(true));
    }
}

/// Of one that a server began which has died; both sessions may be in use again by now.
bool MachineKeeper::settle_adoption(const std::string& to)
{
    const auto seen = registry_.find(to);
    if (!seen || seen->adopting.empty()) {
        return false;
    }
    const auto& from = seen->adopting;
    try {
        const auto locks = lock_both(from, to, Deadline::after({}));
        const auto record = registry_.find(to);
        if (record && record->adopting == from && has_no_machine(*record)) {
            finish_adoption(to, *record);
            return true;
        }
    } catch (...) {
        drop_unused(from); // another was quicker, and the lock has made its folder anew
        throw;
    }
    drop_unused(from);
    return false;
}

void MachineKeeper::require_free(const std::string& to, const std::optional<Record>& record,
                                 const SessionId& id) const
{
    const auto name = "session " + visible(id.session) + " of " + visible(id.principal);
    if (record && only_waits(*record)) { // to remove it was what made it wait
        throw Error(Error(ErrorCode::busy,
                          name + " has been removed, and keeps its name until no sandbox that was "
                                 "being made for it can come any more",
                          "Take another name, or try again later: that is over five minutes after "
                          "the making was given up, and the same command sees to it.")
                        .set_retryable(true));
    }
    if (record && !record->adopting.empty()) {
        throw Error(
            Error(ErrorCode::busy, name + " is just getting the home of another session",
                  "Take another name, or try again in a few seconds to see what came of it.")
                .set_retryable(true));
    }
    if (record) {
        throw Error(ErrorCode::conflict, name + " exists already",
                    "Take another name, or remove that one with its files: `berth sessions kill " +
                        to + " --purge`.");
    }
    if (!backend_.find_home(to).empty()) {
        throw Error(ErrorCode::conflict, name + " has a home already, of which no book tells",
                    "Take another name, or give that home one first: `berth sessions adopt " + to +
                        " --session OTHER --principal OWNER`; then `berth sessions kill OTHER "
                        "--purge` can remove it.");
    }
}

void MachineKeeper::require_owner(const std::string& from, const std::optional<Record>& record,
                                  const Adoption& adoption) const
{
    if (record) {
        require_same_backend(*record);
        require_place(settings_.place, *record);
    }
    if (adoption.any_principal || (record && record->id.principal == adoption.to.principal)) {
        return;
    }
    throw Error(ErrorCode::permission_denied,
                record && !record->id.principal.empty()
                    ? "session " + name_of(from, record) + " is " + visible(record->id.principal) +
                          "'s, not " + visible(adoption.to.principal) + "'s"
                    : "nobody knows whose the home " + from + " is: the books do not say it",
                "Where " + visible(adoption.to.principal) +
                    " shall have it, say so: --principal on the command line.");
}

/// Whether there was one. Its record, if any, says that it has ended then.
bool MachineKeeper::end_for_adoption(const std::string& key, std::optional<Record>& record,
                                     const Adoption& adoption, const Registry::Hold& lock)
{
    if (!record || has_no_machine(*record)) {
        if (record) {
            settle(key, *record, false, lock);
            registry_.put(key, *record);
        }
        if (!backend_.is_bound_to_host() || backend_.is_gone(machine_of_key(key))) {
            return false;
        }
        if (!adoption.end_machine) {
            refuse_in_use(name_of(key, record),
                          "a machine of it may live that the books do not know",
                          "--end-machine ends that.");
        }
        destroy(machine_of_key(key), false, lock);
        return true;
    }
    auto machine = record->state == State::running ? backend_.attach(record->machine) : nullptr;
    if (!machine) {
        settle(key, *record, false, lock);
        registry_.put(key, *record);
        renew_machine_here(key, *record);
        return false;
    }
    sandbox::Sandbox sandbox(std::move(machine), record->token);
    require_nobody_yet(*record, adoption, sandbox);
    Record words = *record; // with what nobody was told of, which goes with the home
    if (may_be_attended(*record, adoption)) {
        keep_last_words(key, words, lock);
    } else {
        take_words_to_adopt(key, words);
    }
    require_idle(*record, adoption, sandbox);
    record->untold = std::move(words.untold);
    note_ending(key, *record, /*purge=*/false);
    destroy(record->machine, false, lock);
    apply(*record, Event::end);
    registry_.put(key, *record);
    renew_machine_here(key, *record);
    return true;
}

/// Else they would be gone with a machine that ends for an adoption that fails.
void MachineKeeper::take_words_to_adopt(const std::string& key, Record& record)
{
    try {
        take_last_words(key, record, /*ends=*/false);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost || error.code() == ErrorCode::backend_error) {
            refuse_untold(visible(record.id.session), error.what());
        }
        throw;                              // of the books, or of whoever has the machine
    } catch (const std::exception& error) { // no descriptor is left, or no memory
        refuse_untold(visible(record.id.session), error.what());
    }
}

void MachineKeeper::require_idle(const Record& record, const Adoption& adoption,
                                 sandbox::Sandbox& sandbox)
{
    const auto name = visible(record.id.session);
    protocol::InfoReply info;
    try {
        if (sandbox.retire()) {
            return;
        }
        info = sandbox.look(Deadline::after(attended_time));
    } catch (const std::exception& error) {
        if (!may_be_attended(record, adoption)) {
            refuse_untold(name, error.what());
        }
        return;
    }
    require_nobody(record, adoption, info);
    if (!adoption.end_machine) {
        refuse_in_use(name, occupation(info), jobs_hint);
    }
}

Record MachineKeeper::record_of_adopted(const std::string& from, const std::optional<Record>& found,
                                        const SessionId& to) const
{
    Record record;
    if (found) {
        record = *found;
        record.saving.folder = found->id.principal == to.principal ? found->saving.folder : "";
    } else {
        record.created = std::chrono::system_clock::now();
        record.epoch = 1;
        record.kept = kept_from_now();
    }
    record.purging = false;
    record.state = State::ended;
    record.why = "it was taken over from session " + name_of(from, found);
    record.last_used = std::max(record.last_used, record.created);
    record.id = to;
    record.unnamed = false;
    record.machine = machine_of_key(key_hash(to));
    if (found) {
        record.machine.home = backend_.home_of(found->machine);
    }
    record.token.clear();
    record.owner = own_name(settings_);
    record.place = backend_.is_bound_to_host() ? settings_.place : std::nullopt;
    record.adopting = from;
    return record;
}

} // namespace berth::session
