#include "sandbox/session/session_manager.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/session/machine_reach.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/replaced_mounts.hpp"
#include "sandbox/session/session_manager_state.hpp"
#include "sandbox/session/unseen_outcomes.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace berth::session {
namespace {

/// The books are touched at most so often: a call on a session in use costs no system call but a
/// look at the sources of mounts.
constexpr std::chrono::seconds touch_interval{30};
constexpr std::chrono::seconds collect_time{10};
constexpr std::chrono::seconds close_time{1};

} // namespace

std::shared_ptr<Slot> SessionManager::Implementation::slot_of(const SessionId& id)
{
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[id];
    if (!slot) {
        slot = std::make_shared<Slot>();
        slot->id = id;
        slot->unnamed = id.session.empty();
        if (slot->unnamed) {
            // Random, so that no other server's unnamed session and no named one is met.
            slot->id.session = "unnamed-" + random_hex(16);
        }
        slot->key = key_hash(slot->id);
    }
    return slot;
}

/// Of one that this server has used; null: it has not.
std::shared_ptr<Slot> SessionManager::Implementation::slot_with(const std::string& key)
{
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(slots_, [&](const auto& each) { return each.second->key == key; });
    return found == slots_.end() ? nullptr : found->second;
}

/// The fast path. Nothing when there is no sandbox yet.
std::optional<Lease> SessionManager::Implementation::lease_of(const std::shared_ptr<Slot>& slot)
{
    bool touch = false;
    bool doubtful = false;
    Lease lease;
    std::shared_ptr<sandbox::Sandbox> sandbox;
    {
        const std::lock_guard lock(slot->mutex);
        if (!slot->sandbox) {
            return std::nullopt;
        }
        sandbox = slot->sandbox;
        const auto now = BootClock::now();
        doubtful = now < slot->doubtful_until;
        touch = now - slot->touched >= touch_interval;
        if (touch) {
            slot->touched = now;
        }
    }
    lease.sandbox = Use::sandbox_of(std::make_shared<Use>(slot, registry_, std::move(sandbox)));
    if (touch) {
        if (keeper_.needs_other_network(slot->key)) { // another server has changed it meanwhile
            const std::lock_guard lock(slot->mutex);
            slot->sandbox.reset();
            return std::nullopt;
        }
        registry_->touch(slot->key);
    }
    tell_of_mounts(*slot, lease);
    if (lease.sandbox->take_unseen() || doubtful) {
        lease.add(claim_doubtful(*lease.sandbox));
    }
    // Last: a call that hangs at the books or at a mount's disk must not have taken them along.
    const std::lock_guard lock(slot->mutex);
    lease.add(std::exchange(slot->untold, {}));
    return lease;
}

/// Under slot.making.
void SessionManager::Implementation::obtain(Slot& slot, const std::stop_token& stop)
{
    // Let go of only when it is worth nothing, because whoever deleted the session has deleted the
    // claimed file with it: in a moment without it a collector would take the session for dead.
    if (slot.unnamed && !(slot.claim && slot.claim->holds())) {
        slot.claim = registry_->claim(slot.key);
        if (!slot.claim) {
            throw Error(ErrorCode::busy, "the session is being cleared up by another server",
                        "try again in a few seconds");
        }
    }
    MachineKeeper::Wanted wanted{slot.id, slot.key, slot.unnamed, {}};
    {
        const std::lock_guard lock(slot.mutex);
        wanted.seen = slot.seen;
    }
    wanted.stop = stop;
    MachineKeeper::Obtained obtained;
    try {
        obtained = keeper_.obtain(wanted);
    } catch (...) {
        keeper_.drop_unused(slot.key);
        throw;
    }
    obtained.sandbox->attend();
    if (!slot.unnamed) { // of which nobody else is told anything
        teller_.watch(obtained.sandbox);
    }
    const std::lock_guard lock(slot.mutex);
    slot.untold.add(std::move(obtained.told));
    slot.taken = std::move(obtained.untold);
    slot.sandbox = std::move(obtained.sandbox);
    slot.reported.reset();
    if (leaving_ && !slot.unnamed) {
        slot.sandbox->leave_commands();
    }
    slot.seen = std::move(obtained.seen);
    slot.record = std::move(obtained.record);
    slot.touched = BootClock::now();
}

Lease SessionManager::Implementation::acquire(const SessionId& id, const std::stop_token& stop)
{
    if (closed_) {
        throw Error(ErrorCode::sandbox_unavailable, "the server is stopping",
                    "Call again when it has been started again: a named session goes on there.");
    }
    const auto slot = slot_of(id);
    slot->settle_told(keeper_);
    if (auto lease = lease_of(slot)) {
        return std::move(*lease);
    }
    start_collector({});
    const std::unique_lock making(slot->making, settings_.lock_wait);
    if (!making) {
        throw Error(ErrorCode::busy, "the sandbox of this session is still being made",
                    advice_to_wait(settings_.setup));
    }
    for (;;) {
        if (auto lease = lease_of(slot)) {
            return std::move(*lease);
        }
        obtain(*slot, stop);
    }
}

void SessionManager::Implementation::report_lost(const SessionId& id, const Lease& lease)
{
    const auto slot = slot_of(id);
    const std::lock_guard lock(slot->mutex);
    // A lease of an older machine says nothing of the present one.
    if (slot->sandbox == lease.sandbox) {
        slot->reported = std::exchange(slot->sandbox, nullptr);
    }
}

void SessionManager::Implementation::report_doubt(const SessionId& id, const Lease& lease)
{
    constexpr std::chrono::minutes long_enough{1}; // the guest knows some seconds after its wake
    const auto slot = slot_of(id);
    const std::lock_guard lock(slot->mutex);
    if (slot->sandbox == lease.sandbox) {
        slot->doubtful_until = BootClock::now() + long_enough;
    }
}

void SessionManager::Implementation::tell_again(const SessionId& id, Told told)
{
    const auto slot = slot_of(id);
    const std::lock_guard lock(slot->mutex);
    told.add(std::exchange(slot->untold, {})); // which came later
    slot->untold = std::move(told);
}

Ended SessionManager::Implementation::kill(const SessionId& id, bool purge, AtEnd files)
{
    const auto slot = slot_of(id);
    const std::unique_lock making(slot->making, settings_.lock_wait);
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
    const auto known = known_trouble(*registry_, key);
    auto ended = keeper_.end(
        key, {.purge = purge, .files = files, .deadline = Deadline::after(settings_.lock_wait)});
    if (!ended.trouble.empty() && ended.trouble != known && settings_.on_unsaved) {
        settings_.on_unsaved(session, ended.trouble);
    }
    return ended;
}

Ended SessionManager::Implementation::kill_listed(const std::string& shown, bool purge, AtEnd files)
{
    const auto key = key_finder_.listed(shown);
    if (!key) {
        return {};
    }
    const auto slot = slot_with(*key);
    return slot ? kill(slot->id, purge, files) : end(*key, shown, purge, files);
}

void SessionManager::Implementation::start_collector(const Homes& homes)
{
    std::call_once(collector_started_, [&] {
        const std::lock_guard lock(mutex_);
        collecting_ = std::jthread([this, homes](const std::stop_token& stop) {
            try {
                (void)collector_.collect(Deadline::after(collect_time), stop, homes);
            } catch (const std::exception&) {
                return; // the next server tries again
            }
        });
    });
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
    closed_ = true;
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
    teller_.stop(); // what it has not said goes with the departure
    const auto patience = Deadline::after(close_time);
    for (const auto& slot : slots) {
        if (slot->unnamed) {
            slot->end_unnamed(keeper_, close_time);
        } else {
            slot->settle_told(keeper_, patience);
            slot->depart(keeper_, settings_.on_disconnect);
        }
    }
}

SessionManager::SessionManager(Settings settings, std::shared_ptr<sandbox::Backend> backend)
    : implementation_(std::make_unique<Implementation>(std::move(settings), std::move(backend)))
{
}

SessionManager::~SessionManager()
{
    implementation_->close();
}

Lease SessionManager::acquire(const SessionId& id, const std::stop_token& stop)
{
    return implementation_->acquire(id, stop);
}

void SessionManager::report_lost(const SessionId& id, const Lease& lease)
{
    implementation_->report_lost(id, lease);
}

std::string SessionManager::why_ended(const SessionId& id, const Lease& lease)
{
    return implementation_->keeper().why_ended(implementation_->key_of(id),
                                               lease.sandbox->machine().record().generation);
}

Told SessionManager::unseen_since(const Lease& lease) noexcept
{
    return lease.sandbox->take_unseen() ? claim_doubtful(*lease.sandbox) : Told();
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

bool SessionManager::lives_here(const std::string& key)
{
    return implementation_->keeper().lives_here(key);
}

Adopted SessionManager::adopt(const std::string& key, const Adoption& adoption)
{
    return implementation_->keeper().adopt(key, adoption);
}

Adopted SessionManager::adopt_machine(const std::string& id, const Adoption& adoption)
{
    return implementation_->keeper().adopt_machine(id, adoption);
}

std::optional<Sight> SessionManager::show(const std::string& key)
{
    return implementation_->finder().sight_of(key);
}

std::optional<protocol::PauseReply> SessionManager::pause(const std::string& key)
{
    return pause_machine(implementation_->backend(), implementation_->registry(),
                         implementation_->place(), key);
}

std::optional<protocol::ResumeReply> SessionManager::resume(const std::string& key)
{
    return resume_machine(implementation_->backend(), implementation_->registry(),
                          implementation_->place(), key);
}

bool SessionManager::uses(const SessionId& id)
{
    return implementation_->uses(id);
}

SessionFacts SessionManager::facts(const SessionId& id)
{
    return implementation_->facts(id);
}

std::vector<SessionFacts> SessionManager::list()
{
    return implementation_->finder().all();
}

std::vector<SessionFacts> SessionManager::list_asked()
{
    return implementation_->finder().all_asked();
}

std::vector<Activity> SessionManager::activities()
{
    return implementation_->finder().activities();
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
    return implementation_->collector().collect(deadline, stop, homes);
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
