#include "sandbox/session/machine_keeper.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/left_behind.hpp"
#include "sandbox/session/machine_end.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/unseen_outcomes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::session {
namespace {

constexpr const char* replaced_notice =
    "the sandbox was replaced by a fresh one meanwhile; files in the home are kept";
/// The books keep nothing of one whose home `berth sessions adopt` has given away, either.
constexpr const char* deleted_notice =
    "the session was deleted with its files, or its home was given to another session; a fresh one "
    "is in use";
/// The same of one without a name.
constexpr const char* taken_notice = "the session was ended by somebody else, who deleted its "
                                     "files or gave them to another session; a fresh one is in use";
constexpr const char* vanished_notice = "the sandbox is not there any more, nor are the files that "
                                        "were in it; a fresh one is in use";
constexpr const char* forgotten_notice =
    "the sandbox was replaced by a fresh one meanwhile, since the books of the sessions had lost "
    "its record; files in the home are kept";
constexpr const char* unrecorded_notice =
    "the books of the sessions no longer knew this session's sandbox: it was ended with its "
    "processes and jobs, and a fresh one is in use; files in the home are kept";
/// Of one on no host, whose record was damaged or emptied by a power loss.
constexpr const char* unfound_notice =
    "the books of the sessions have lost which sandbox this session had; a fresh one is in use, "
    "without its files, and whoever runs this server may still find it";

/// Its machine was being made when the server that made it died, and was never there for anybody:
/// what is to be told is of the one before.
bool came_to_nothing(const Record& record)
{
    return record.state == State::creating ||
           (record.state == State::lost && record.why == next(State::creating, Event::gone)->why);
}

/// Of the machine before, which is gone. Where it was on no host the books alone know its files.
std::string notice_of_last(const Record& before, bool bound)
{
    const auto& last = before.machine;
    return !bound && last.generation.empty() && last.home.empty()
               ? unfound_notice
               : replacement_notice(before.state, before.why);
}

/// `notice` of a machine that was replaced, by what has shown of its home: whether it was made
/// anew.
std::string notice_of_home(const std::string& notice, bool had_record, bool made_home, bool unnamed,
                           bool bound)
{
    if (notice == deleted_notice && !made_home) {
        return forgotten_notice;
    }
    if (notice == unfound_notice) {
        return notice;
    }
    if (had_record) { // and where the home is gone whoever removed it was stopped before the record
        return !made_home ? notice : bound ? deleted_notice : vanished_notice;
    }
    return unnamed && notice == deleted_notice ? taken_notice : notice;
}

/// Of a session that another server has gone on with, in another home. Books that counted on have
/// lost that home, where its host has it; what was deleted is counted from the beginning.
const char* notice_of_anew(const Record& record, const MachineKeeper::Seen& seen, bool bound)
{
    if (record.found_home) {
        return forgotten_notice;
    }
    return !bound && record.epoch > seen.epoch ? vanished_notice : deleted_notice;
}

MachineKeeper::Seen seen_in(const Record& record)
{
    return {record.machine.generation, record.epoch, rfc3339(record.created)};
}

/// What happened on the machine that nobody was told of. A guest that does not answer is met by the
/// call that comes next, which says what is wrong. False: there is certainly none any more, which
/// nobody sees from without where a machine is not of this host.
bool tell_unseen(MachineKeeper::Obtained& obtained, const sandbox::CallToCome& next, bool locked)
{
    constexpr std::chrono::seconds once_is_enough{5};
    const auto patience = Deadline::after(once_is_enough);
    try {
        obtained.told.add(claim_unseen(*obtained.sandbox, &next));
        return true;
    } catch (const sandbox::OtherVersion&) {
        throw;
    } catch (const sandbox::Unsent& error) {
        if (error.is_of_replaced() && locked) { // else another server may just have made it
            throw Error(
                ErrorCode::busy,
                "the session's sandbox has another machine than the books know, so they may "
                "have come back as they were a while ago",
                "Where trying again does not help, `berth sessions kill` ends what is there and "
                "keeps its files.");
        }
        if (!error.is_of_gone() && patience.expired()) {
            throw; // the call would wait for the same again, and only then be told
        }
        return obtained.sandbox->machine().reach().kept || !error.is_of_gone();
    } catch (const std::exception&) {
        if (next.stop.stop_requested()) {
            throw; // else nobody would ask for it again
        }
        return true;
    }
}

} // namespace

bool MachineKeeper::Seen::is_of_session_before(const Record& record) const
{
    return !created.empty() && (record.epoch <= epoch || rfc3339(record.created) != created);
}

MachineKeeper::MachineKeeper(const Settings& settings, sandbox::Backend& backend,
                             Registry& registry)
    : settings_(settings), backend_(backend), registry_(registry), host_(settings.state_directory),
      admission_(settings, backend, registry)
{
}

void MachineKeeper::require_same_backend(const Record& record) const
{
    require_backend(record, backend_.name());
}

/// The stricter side wins: else whoever starts a server that shall keep a model from the network,
/// or from a folder, has started one that does not.
void MachineKeeper::require_no_excess(const Record& record, const std::string& obstacle) const
{
    if (!record.made_with) {
        return;
    }
    const auto has = joined(excess(settings_, *record.made_with), " ");
    if (has.empty()) {
        return;
    }
    const auto wanted = joined(instead(settings_, *record.made_with), " ");
    const auto& name = record.id.session;
    const auto what = "the sandbox of session '" + name + "' was made with " + has +
                      ", and this server asks for " + (wanted.empty() ? "less" : wanted);
    if (!obstacle.empty()) {
        throw Error(ErrorCode::sandbox_unavailable,
                    what + "; no other can be made now: " + obstacle,
                    "Or start the server with " + has + '.');
    }
    throw Error(ErrorCode::sandbox_unavailable, what,
                "A sandbox keeps what it was made with. Another --session NAME is a sandbox of its "
                "own, made as this server asks for. Or end this one with `berth sessions kill " +
                    name +
                    "`: its home is kept, and the next call makes it anew, as it does once "
                    "nothing runs there and no other server uses it. Or start the server with " +
                    has + '.');
}

sandbox::MachineRecord MachineKeeper::machine_of_key(const std::string& key) const
{
    sandbox::MachineRecord machine;
    machine.backend = backend_.name();
    machine.data["key_hash"] = key;
    return machine;
}

/// With the generation and the home, which is all that a machine is found by that is not on this
/// host.
sandbox::MachineRecord MachineKeeper::machine_of_key(const std::string& key,
                                                     const Record& record) const
{
    auto machine = machine_of_key(key);
    machine.generation = record.machine.generation;
    machine.home = backend_.home_of(record.machine);
    return machine;
}

/// Whatever machine there is of the key, or in its home.
sandbox::MachineRecord MachineKeeper::any_of(const std::string& key, const Record& record) const
{
    auto machine = machine_of_key(key);
    machine.home = backend_.home_of(record.machine);
    return machine;
}

MachineKeeper::Obtained MachineKeeper::obtain(const Wanted& wanted)
{
    // Without the lock first: most servers come to a session whose machine runs.
    if (auto found = registry_.find(wanted.key)) {
        require_same_backend(*found);
        if (!is_outdated(*found)) {
            if (auto obtained = attach_spoken(wanted, *found)) {
                return std::move(*obtained);
            }
        }
        if (found->state != State::creating) { // what is being made this server may use
            require_place(settings_.place, *found);
        }
    }
    if (const auto availability = backend_.availability(); !availability.available) {
        note_wanted(wanted.key);
        throw Error(availability.code, availability.reason, availability.remedy);
    }
    finish_begun(wanted.key);
    const auto lock = lock_to_make(wanted);
    auto record = registry_.find(wanted.key);
    if (record) {
        require_adopted(*record);
        record = latest(wanted.key, *std::move(record));
    } else {
        record = put_back(wanted.key, copy_with_home(wanted.key));
    }
    if (record) {
        require_same_backend(*record);
        auto kept = wanted;
        if (!is_outdated(*record) || !retire(wanted, *record, *lock, kept.obstacle)) {
            if (auto obtained = attach_spoken(kept, *record, lock.get())) {
                return std::move(*obtained);
            }
        }
        require_place(settings_.place, *record);
    }
    return replace(wanted, std::move(record), *lock);
}

std::optional<MachineKeeper::Obtained>
MachineKeeper::attach(const Wanted& wanted, const Record& found, const Registry::Hold* lock)
{
    Record record = found;
    require_host(settings_.place, record);
    if (record.state != State::running || record.ending) {
        return std::nullopt;
    }
    auto machine = backend_.attach(record.machine);
    if (!machine) {
        return std::nullopt;
    }
    Obtained obtained;
    obtained.seen = seen_in(record);
    obtained.sandbox = held_of(wanted, record);
    if (!obtained.sandbox) {
        obtained.sandbox = std::make_shared<sandbox::Sandbox>(std::move(machine), record.token);
    }
    if (!change_network(wanted, record, *obtained.sandbox, lock)) {
        return std::nullopt;
    }
    require_no_excess(record, wanted.obstacle);
    change_terms(wanted, record, *obtained.sandbox, lock);
    // Once for each machine: a connection that broke is no news.
    const bool is_first = wanted.seen.generation != obtained.seen.generation;
    const bool knows = is_first && !wanted.seen.generation.empty();
    if (knows) {
        // A session that was deleted, by whomever, or that the books have lost counts its machines
        // anew.
        obtained.told.notices.emplace_back(
            wanted.seen.is_of_session_before(record)
                ? notice_of_anew(record, wanted.seen, backend_.is_bound_to_host())
                : replaced_notice);
    }
    obtained.told_settings = wanted.told_settings;
    if (record.made_with && (is_first || wanted.held)) {
        obtained.told_settings = settings_notice(settings_, *record.made_with, record.machine.id,
                                                 backend_.renews_machines(), wanted.obstacle);
        if (!obtained.told_settings.empty() && obtained.told_settings != wanted.told_settings) {
            obtained.told.notices.push_back(obtained.told_settings);
        }
    }
    if (obtained.sandbox != wanted.held) { // else it is told, or about to be
        take_untold(wanted, record, knows, obtained);
    }
    if (!tell_unseen(obtained, wanted.next, lock != nullptr)) {
        return std::nullopt;
    }
    registry_.touch(wanted.key);
    obtained.record = std::move(record);
    return obtained;
}

/// Whatever is left of a machine that does not answer any more is removed, and its record says what
/// became of it.
void MachineKeeper::settle(const std::string& key, Record& record, bool attended,
                           const Registry::Hold& lock)
{
    if (record.saving.begun) { // and the server that saved is gone
        destroy(any_of(key, record), false, lock);
        record.saving.begun = false;
    }
    if (record.state == State::running && !take_end_kept_here(key, record)) {
        settle_gone(key, record, attended, lock);
    } else if (record.state == State::creating) {
        settle_creation(key, record, lock);
    } else if (record.state == State::lost) {
        destroy(any_of(key, record), false, lock);
    } else if (record.ending) { // the machine has ended, and whoever was to clear up is gone
        destroy(record.machine, false, lock);
    }
    record.ending = false;
}

/// In the books of one host a lock is let go of by its holder alone.
bool MachineKeeper::has_passed_on(const Registry::Hold& lock) const
{
    return registry_.is_shared() && !lock.holds();
}

/// Before anything is ended: a server that stood still for long may have lost the lock while it
/// looked, and what it saw as dead or not there may be another's living machine by now.
void MachineKeeper::require_held(const Registry::Hold& lock) const
{
    if (has_passed_on(lock)) {
        throw Error(ErrorCode::busy,
                    "the right to make or end the session's sandbox has passed to another server",
                    "Try again: the call takes what the other server has made.");
    }
}

void MachineKeeper::destroy(const sandbox::MachineRecord& machine, bool purge,
                            const Registry::Hold& lock)
{
    backend_.destroy_while(machine, purge, [&] { require_held(lock); });
}

/// Another server's session.setup takes longer than anybody waits here.
std::unique_ptr<Registry::Hold> MachineKeeper::lock_to_make(const Wanted& wanted) const
{
    // Who has a machine that can be used does not wait long for another.
    constexpr std::chrono::seconds with_machine{2};
    try {
        return lock(wanted.key, Deadline::after(wanted.held ? std::min<std::chrono::milliseconds>(
                                                                  with_machine, settings_.lock_wait)
                                                            : settings_.lock_wait));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy || settings_.setup.commands.empty()) {
            throw;
        }
        throw busy_making(settings_.setup, error.what(), error.hint());
    }
}

/// Books that lost a record, or came back with one of a while ago, may not know of a machine that
/// lives, nor do files of one that a server with other books has made in this state directory: its
/// home is not given to a second one beside it. Only where machines are bound to this host; others
/// are found by their creation's number. True: one lived.
bool MachineKeeper::clear_unrecorded(const std::string& key, bool purge, const Registry::Hold& lock)
{
    const bool lives = lives_here(key);
    if (are_books_elsewhere() || lives) {
        destroy(machine_of_key(key), purge, lock);
    }
    return lives;
}

void MachineKeeper::give_to(const Wanted& wanted, Record& record)
{
    if (record.id.principal != wanted.id.principal) {
        record.saving.folder.clear(); // of the other one's workspace
    }
    record.id = wanted.id;
    record.unnamed = wanted.unnamed;
}

/// The record of a machine that is about to be made, in the home of the last one if there was any.
void MachineKeeper::begin_machine(const Wanted& wanted, Record& record) const
{
    apply(record, Event::create);
    record.last_used = std::chrono::system_clock::now();
    record.used = HostTime::now();
    const bool of_same_principal = record.id.principal == wanted.id.principal;
    give_to(wanted, record);
    record.machine = machine_of_key(wanted.key, record);
    record.machine.generation = random_hex(16) + backend_.account();
    record.token = random_hex(32);
    record.made_with = conditions_after(record, of_same_principal);
    record.network_unsure = false;
    record.owner = own_name(settings_);
    record.saving.due = true;
    record.adopting.clear();
    record.place = backend_.is_bound_to_host() ? settings_.place : std::nullopt;
    ++record.epoch;
}

MachineKeeper::Obtained MachineKeeper::replace(const Wanted& wanted, std::optional<Record> before,
                                               const Registry::Hold& lock)
{
    require_held(lock);
    const bool had_one = before && !only_waits(*before); // else it was purged
    std::string notice = had_one || wanted.seen.generation.empty() ? "" : deleted_notice;
    Record record;
    bool is_from_before = false;
    if (before) {
        if (wanted.taken.is_read()) { // else it would be told again with the news
            (void)wanted.taken.remove_from(*before);
        }
        // Books that came back as they once were count anew what was counted before.
        is_from_before = is_old(wanted.key, *before);
        before->found_home = before->found_home || is_from_before;
        const bool unused = is_unused(*before);
        const auto home = before->machine.home;
        const bool has_news = came_to_nothing(*before) && !before->news.empty();
        end_late(wanted.key, *before, lock);
        settle(wanted.key, *before, wanted.seen.generation == before->machine.generation, lock);
        if (had_one) {
            const bool is_missed = !(unused && before->machine.home == home) && !has_news;
            notice = is_missed ? notice_of_last(*before, backend_.is_bound_to_host()) : "";
        }
        record = *before;
    } else {
        record.created = std::chrono::system_clock::now();
        record.found_home = !backend_.find_home(wanted.key).empty();
    }
    if (clear_unrecorded(wanted.key, false, lock) && (notice.empty() || is_from_before)) {
        notice = unrecorded_notice; // whatever became of the one that they knew
    }
    if (!notice.empty()) {
        record.news = notice;
    }
    begin_machine(wanted, record);
    Obtained obtained;
    try {
        // Written before the machine is made: who finds it knows that there may be one.
        {
            const auto admitted = admission_.enter(wanted.id, wanted.key);
            mark(wanted.key, record);
            registry_.put(wanted.key, record);
        }
        obtained = create(wanted, record, {notice, had_one}, lock);
    } catch (const sandbox::LeftBehind&) {
        give_up(wanted.key, record.machine.generation);
        throw; // the books go on saying that there may be a machine: the next server clears it up
    } catch (...) {
        roll_back(wanted.key, std::move(before), lock);
        throw;
    }
    return obtained;
}

MachineKeeper::Obtained MachineKeeper::create(const Wanted& wanted, Record& record,
                                              const News& news, const Registry::Hold& lock)
{
    auto machine = make_machine(wanted, record, lock);
    record.machine = machine->record();
    record.machine.data["key_hash"] = wanted.key;
    if (record.machine.made_home) {
        record.made_with->template_name = settings_.template_name;
        record.made_with->save_on_end = settings_.save_on_end; // what was owed is gone with it
        record.made_with->home_retention = settings_.home_retention;
        record.made_with->own_retention = settings_.own_retention;
        // The folder is that of the home which is gone: another session may have it by now.
        record.saving.folder.clear();
        if (record.epoch > 1) { // nor is it the home of whoever saw the session before
            record.created = std::chrono::system_clock::now();
            record.found_home = false;
        }
    }
    if (!news.notice.empty()) {
        record.news = notice_of_home(news.notice, news.had_record, record.machine.made_home,
                                     wanted.unnamed, backend_.is_bound_to_host());
    }
    Obtained obtained;
    take_news(wanted, record, obtained);
    obtained.sandbox = std::make_shared<sandbox::Sandbox>(std::move(machine), record.token);
    try {
        if (auto notice = set_up(*obtained.sandbox, settings_.setup, wanted.next.stop);
            !notice.empty()) {
            obtained.told.notices.push_back(std::move(notice));
        }
        require_held(lock); // what another has noted since is not written over
        apply(record, Event::created);
        keep_machine_here(wanted.key, record);
        registry_.put(wanted.key, record);
    } catch (...) {
        drop_machine_here(wanted.key); // else it would come back as one that had been there
        // Known to no book it could never be ended, nor its home be found. Who has the lock by now
        // may have given that to another, which would be ended where it is no folder of this host.
        if (!has_passed_on(lock) || backend_.is_bound_to_host() || record.machine.made_home) {
            undo(record.machine, record.machine.made_home && !has_passed_on(lock), lock);
        }
        throw;
    }
    obtained.seen = seen_in(record);
    obtained.record = record;
    return obtained;
}

} // namespace berth::session
