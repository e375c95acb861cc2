#include "sandbox/session/session_manager.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/session/late_pace.hpp"
#include "sandbox/session/machine_reach.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/session_manager_state.hpp"
#include "sandbox/session/side_by_side.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace berth::session {
namespace {

constexpr std::chrono::seconds collect_time{10};
/// Of a server's own, and between two of them.
constexpr int collect_rounds = 4;
constexpr std::chrono::seconds collect_pause{5};
constexpr std::chrono::seconds close_time{1};
/// Of an unnamed session's machine elsewhere, to be ended with its server.
constexpr std::chrono::seconds far_end_time{5};
/// By then what has failed there is asked for again: of a server's last 3.5 s (server/ending.cpp)
/// the rest is for the answer.
constexpr std::chrono::seconds far_again_time{3};
/// A guest says with its replies that a result reached nobody, and knows it some seconds after its
/// wake. One of an earlier release says it only once a server has left: for so long it is asked.
constexpr std::chrono::minutes doubt_lasts{1};

/// What others are at just then is looked at again: they may be about to die, or what they make or
/// end has no other server that comes to it for long. Longer what may come of a creation that was
/// given up: nobody else may look for that either, and it costs.
void collect_patiently(Parts& parts, Homes homes, const std::stop_token& stop)
{
    LatePace pace;
    for (int round = 1;; ++round) {
        const auto found = parts.collector.collect(Deadline::after(collect_time), stop, homes);
        const bool is_disturbed = round < collect_rounds &&
                                  !(found.busy.empty() && found.silent.empty() && found.in_time);
        if (stop.stop_requested()) {
            return;
        }
        if (is_disturbed) {
            sandbox::wait_for(std::max<std::chrono::milliseconds>(collect_pause, found.lapse),
                              stop);
            continue;
        }
        const auto pause = pace.next(found.late);
        if (!pause) {
            return;
        }
        homes = {}; // all else is done
        sandbox::wait_for(*pause, stop);
    }
}

void collect_quietly(Parts& parts, const Homes& homes, const std::stop_token& stop) noexcept
{
    try {
        collect_patiently(parts, homes, stop);
    } catch (const std::exception&) {
        return; // the next server tries again
    }
}

} // namespace

void SessionManager::Implementation::report_lost(const SessionId& id, const Lease& lease)
{
    const auto slot = slot_of(id);
    const std::lock_guard lock(slot->mutex);
    // A lease of an older machine says nothing of the present one.
    if (slot->sandbox == lease.sandbox) {
        slot->reported = std::exchange(slot->sandbox, nullptr);
    }
}

std::string SessionManager::Implementation::why_ended(const SessionId& id, const Lease& lease)
{
    MachineKeeper::Seen seen;
    {
        const auto slot = slot_of(id);
        const std::lock_guard lock(slot->mutex);
        seen = slot->seen;
    }
    const auto& generation = lease.sandbox->machine().record().generation;
    if (seen.generation != generation) { // another call has gone on with the next one meanwhile
        seen = {.generation = generation};
    }
    return parts()->keeper.why_ended(key_of(id), seen);
}

void SessionManager::Implementation::report_doubt(const SessionId& id, const Lease& lease)
{
    const auto slot = slot_of(id);
    const std::lock_guard lock(slot->mutex);
    if (slot->sandbox == lease.sandbox) {
        slot->doubtful_until = BootClock::now() + doubt_lasts;
    }
}

void SessionManager::Implementation::report_unread(const SessionId& id, Told told)
{
    const auto slot = slot_of(id);
    {
        const std::lock_guard lock(slot->mutex);
        slot->doubtful_until = BootClock::now() + doubt_lasts;
    }
    tell_again(id, std::move(told));
}

void SessionManager::Implementation::tell_again(const SessionId& id, Told told)
{
    const auto slot = slot_of(id);
    std::erase_if(told.notices, [&](const std::string& notice) { // the next lease adds those
        return std::ranges::find(told.unheard, notice) != told.unheard.end();
    });
    const std::lock_guard lock(slot->mutex);
    told.add(std::exchange(slot->untold, {})); // which came later
    slot->untold = std::move(told);
}

Ended SessionManager::Implementation::kill(const SessionId& id, bool purge, AtEnd files)
{
    return kill(slot_of(id), purge, files);
}

Ended SessionManager::Implementation::kill(const std::shared_ptr<Slot>& slot, bool purge,
                                           AtEnd files)
{
    const std::unique_lock making(slot->making, parts()->settings.lock_wait);
    if (!making) {
        throw Error(ErrorCode::busy, "the sandbox of this session is still being made",
                    "try again in a few seconds");
    }
    auto ended = end(slot->key, slot->id.session, purge, files);
    const std::lock_guard lock(slot->mutex);
    slot->sandbox.reset();
    slot->reported.reset();
    return ended;
}

/// `session`: what it is told as. A reason that is known is not told again, as by the collections;
/// who ends it here has it in the result.
Ended SessionManager::Implementation::end(const std::string& key, const std::string& session,
                                          bool purge, AtEnd files)
{
    const auto parts = this->parts();
    const auto& settings = parts->settings;
    const auto known = known_trouble(*registry_, key);
    auto ended = parts->keeper.end(
        key, {.purge = purge, .files = files, .deadline = Deadline::after(settings.lock_wait)});
    if (!ended.trouble.empty() && ended.trouble != known && settings.on_unsaved) {
        settings.on_unsaved(session, ended.trouble);
    }
    return ended;
}

Ended SessionManager::Implementation::kill_listed(const std::string& shown, bool purge, AtEnd files)
{
    const auto key = key_finder_.listed(shown);
    if (!key) {
        return {};
    }
    if (const auto slot = slot_with(*key)) {
        return kill(slot, purge, files);
    }
    const auto id = parts()->finder.id_of(*key);
    return end(*key, id ? id->session : shown, purge, files);
}

void SessionManager::Implementation::start_collector(const Homes& homes)
{
    try {
        std::call_once(collector_started_, [&] { collect(homes, std::chrono::seconds(0)); });
    } catch (const std::system_error&) {
        return; // no thread to be had: no reason to refuse a call, and the next one tries again
    }
}

void SessionManager::Implementation::collect_late() noexcept
{
    try {
        collect({}, LatePace::first);
    } catch (const std::exception&) {
        return; // no thread to be had: the next server sees to it
    }
}

/// By one thread: what is wanted while it is at work it does afterwards.
void SessionManager::Implementation::collect(const Homes& homes, std::chrono::seconds pause)
{
    const std::lock_guard lock(mutex_);
    if (closed_) {
        return;
    }
    if (std::exchange(collects_, true)) {
        collects_again_ = true;
        return;
    }
    try {
        collecting_ =
            std::jthread([this, homes = homes, pause](const std::stop_token& stop) mutable {
                const WaitBound bound(stop); // close() waits for it
                do {
                    sandbox::wait_for(pause, stop);
                    collect_quietly(*parts(), std::exchange(homes, {}), stop);
                    pause = LatePace::first;
                } while (goes_on_collecting(stop));
            });
    } catch (...) {
        collects_ = false;
        throw;
    }
}

bool SessionManager::Implementation::goes_on_collecting(const std::stop_token& stop)
{
    const std::lock_guard lock(mutex_);
    collects_ = std::exchange(collects_again_, false) && !stop.stop_requested();
    return collects_;
}

void SessionManager::Implementation::leave_commands() noexcept
{
    leaving_ = true; // before the look at the slots: what obtain() makes after it sees this
    const std::lock_guard lock(mutex_);
    for (const auto& [id, slot] : slots_) {
        const std::lock_guard slot_lock(slot->mutex);
        if (slot->sandbox && !slot->unnamed) {
            slot->sandbox->leave_commands();
        }
    }
}

void SessionManager::Implementation::close() noexcept
{
    const auto again = Deadline::after(far_again_time);
    closed_ = true;
    const std::lock_guard closing(closing_);
    std::vector<std::shared_ptr<Slot>> slots;
    std::jthread collector;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, slot] : slots_) {
            slots.push_back(slot);
        }
        collector = std::move(collecting_);
    }
    collector.request_stop();
    teller_.stop();  // what it has not said goes with the departure
    settler_.stop(); // what it has not settled is below
    const auto parts = this->parts();
    const auto patience = Deadline::after(close_time);
    std::atomic<bool> answers = true; // whoever has machines elsewhere, for one as for the others
    const auto let_go = [&](Slot& slot) {
        const WaitBound bound({}, {}, again);
        if (slot.unnamed) {
            const auto far = Deadline::after(answers ? far_end_time : std::chrono::seconds(0));
            slot.end_unnamed(parts->keeper, close_time, far, parts->settings.on_left);
            answers = answers && !far.expired();
        } else {
            slot.settle_told(parts->keeper, patience);
            slot.keep_unheard(parts->keeper, patience);
            slot.let_others_tell();
            slot.depart(parts->keeper, parts->settings.on_disconnect);
        }
    };
    try {
        // There is time for one behind the other of a few that are elsewhere, and no more.
        side_by_side(slots.size(), [&](std::size_t i) { let_go(*slots[i]); });
    } catch (const std::exception&) {
        return; // no memory: as after a server that was killed
    }
}

SessionManager::SessionManager(Settings settings, std::shared_ptr<sandbox::Backend> backend)
    : implementation_(std::make_unique<Implementation>(std::move(settings), std::move(backend)))
{
}

void SessionManager::change(const Settings& later)
{
    implementation_->change(later);
}

SessionManager::~SessionManager()
{
    implementation_->close();
}

Lease SessionManager::acquire(const SessionId& id, const sandbox::CallToCome& next)
{
    return implementation_->acquire(id, next);
}

void SessionManager::report_lost(const SessionId& id, const Lease& lease)
{
    implementation_->report_lost(id, lease);
}

std::string SessionManager::why_ended(const SessionId& id, const Lease& lease)
{
    return implementation_->why_ended(id, lease);
}

Told SessionManager::unseen_since(const Lease& lease) noexcept
{
    return lease.sandbox->take_unseen() ? claim_doubtful(*lease.sandbox) : Told();
}

void SessionManager::report_unread(const SessionId& id, Told told)
{
    implementation_->report_unread(id, std::move(told));
}

void SessionManager::report_doubt(const SessionId& id, const Lease& lease)
{
    implementation_->report_doubt(id, lease);
}

void SessionManager::tell_again(const SessionId& id, Told told)
{
    implementation_->tell_again(id, std::move(told));
}

Ended SessionManager::kill_listed(const std::string& shown, bool purge, AtEnd files)
{
    return implementation_->kill_listed(shown, purge, files);
}

std::optional<std::string> SessionManager::find_key(const SessionId& id, const std::string& shown)
{
    return implementation_->key_finder().find(id, shown);
}

std::optional<std::string> SessionManager::find_home_key(const SessionId& id,
                                                         const std::string& shown)
{
    auto key = find_key(id, shown);
    return key ? std::move(key) : key_of_home(id, shown);
}

std::optional<std::string> SessionManager::key_of_home(const SessionId& id,
                                                       const std::string& shown)
{
    return implementation_->key_finder().of_home(id, shown);
}

std::optional<SessionId> SessionManager::id_of(const std::string& key)
{
    return implementation_->parts()->finder.id_of(key);
}

bool SessionManager::lives_here(const std::string& key)
{
    return implementation_->parts()->keeper.lives_here(key);
}

Adopted SessionManager::adopt(const std::string& key, const Adoption& adoption)
{
    return implementation_->parts()->keeper.adopt(key, adoption);
}

Adopted SessionManager::adopt_machine(const std::string& id, const Adoption& adoption)
{
    return implementation_->parts()->keeper.adopt_machine(id, adoption);
}

std::optional<Sight> SessionManager::show(const std::string& key)
{
    return implementation_->parts()->finder.sight_of(key);
}

std::optional<protocol::PauseReply> SessionManager::pause(const std::string& key)
{
    return pause_machine(implementation_->backend(), implementation_->registry(),
                         implementation_->parts()->settings.place, key);
}

std::optional<protocol::ResumeReply> SessionManager::resume(const std::string& key)
{
    return resume_machine(implementation_->backend(), implementation_->registry(),
                          implementation_->parts()->settings.place, key);
}

std::optional<std::chrono::milliseconds> SessionManager::settling()
{
    return implementation_->registry().settling();
}

bool SessionManager::uses(const SessionId& id)
{
    return implementation_->uses(id);
}

SessionFacts SessionManager::facts(const SessionId& id)
{
    return implementation_->facts(id);
}

Sight SessionManager::look(const SessionId& id)
{
    return implementation_->look(id);
}

std::vector<SessionFacts> SessionManager::list()
{
    return implementation_->parts()->finder.all();
}

std::vector<Named> SessionManager::names()
{
    return implementation_->parts()->finder.names();
}

std::vector<SessionFacts> SessionManager::list_asked()
{
    return implementation_->parts()->finder.all_asked();
}

std::vector<Activity> SessionManager::activities()
{
    return implementation_->parts()->finder.activities();
}

Ended SessionManager::kill(const SessionId& id, bool purge, AtEnd files)
{
    return implementation_->kill(id, purge, files);
}

sandbox::Backend& SessionManager::backend() noexcept
{
    return implementation_->backend();
}

Collected SessionManager::collect_leftovers(const Deadline& deadline, const std::stop_token& stop,
                                            const Homes& homes)
{
    return implementation_->parts()->collector.collect(deadline, stop, homes);
}

void SessionManager::start_collecting()
{
    implementation_->start_collector({.old = true, .older_than = {}});
}

void SessionManager::leave_commands() noexcept
{
    implementation_->leave_commands();
}

void SessionManager::close() noexcept
{
    implementation_->close();
}

} // namespace berth::session
