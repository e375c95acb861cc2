#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/left_behind.hpp"
#include "sandbox/session/replaced_mounts.hpp"
#include "sandbox/session/session_manager_state.hpp"
#include "sandbox/session/terms.hpp"
#include "sandbox/session/unseen_outcomes.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

// How a call comes to its session's sandbox, by the settings of its moment.

namespace berth::session {
namespace {

/// The books are touched at most so often: a call on a session in use costs no system call but a
/// look at the sources of mounts.
constexpr std::chrono::seconds touch_interval{30};
/// Whether a server that was about to tell what they have still is: it may have gone, or died.
constexpr std::chrono::seconds ask_interval{1};

/// After settings have changed, and a machine could not be: when that is tried again. It asks the
/// books and the backend, which may be far.
std::chrono::seconds change_again(const sandbox::Backend& backend)
{
    return std::chrono::seconds(backend.is_bound_to_host() ? 5 : 60);
}

bool answers(sandbox::Sandbox& sandbox) noexcept
{
    try {
        sandbox.ping();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

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

/// The fast path. Nothing when there is no sandbox yet, or not one by these settings. `makes`: this
/// call has the slot's `making`.
std::optional<Lease> SessionManager::Implementation::lease_of(const std::shared_ptr<Slot>& slot,
                                                              const std::shared_ptr<Parts>& parts,
                                                              bool makes)
{
    bool touch = false;
    bool asks = false;
    bool doubtful = false;
    Lease lease;
    std::shared_ptr<sandbox::Sandbox> sandbox;
    {
        const std::lock_guard lock(slot->mutex);
        if (!slot->sandbox || slot->is_due(parts->version)) {
            return std::nullopt;
        }
        sandbox = slot->sandbox;
        const auto now = BootClock::now();
        doubtful = now < slot->doubtful_until;
        touch = now - slot->touched >= touch_interval;
        if (touch) {
            slot->touched = now;
        }
        asks = slot->is_to_ask();
    }
    lease.sandbox = Use::sandbox_of(std::make_shared<Use>(slot, registry_, std::move(sandbox)));
    if (touch) {
        // Another server may have changed it meanwhile.
        if (parts->keeper.needs_other_network(slot->key)) {
            const std::lock_guard lock(slot->mutex);
            slot->version = slot->tried = 0; // it is changed before the call begins
            return std::nullopt;
        }
        registry_->touch(slot->key);
    }
    if (asks) {
        take_untold(slot, parts, makes);
    }
    tell_of_mounts(*slot, lease, *backend_);
    if (lease.sandbox->take_unseen() || doubtful) {
        lease.add(claim_doubtful(*lease.sandbox));
    }
    // Last: a call that hangs at the books or at a mount's disk must not have taken them along.
    const std::lock_guard lock(slot->mutex);
    lease.add(std::exchange(slot->untold, {}));
    // Told as the others are, and still known for what nobody else has: it may come back unread.
    std::ranges::copy(lease.unheard, std::back_inserter(lease.notices));
    return lease;
}

/// What another server was about to tell when this one came: it may have died before. Not beside a
/// call that makes or finds the machine, which takes what the books have itself: they would both
/// tell it, and of one the books would never hear that it was read. A later call looks again.
void SessionManager::Implementation::take_untold(const std::shared_ptr<Slot>& slot,
                                                 const std::shared_ptr<Parts>& parts, bool makes)
{
    std::unique_lock making(slot->making, std::defer_lock);
    if (!makes && !making.try_lock()) {
        return;
    }
    Untold taken;
    {
        const std::lock_guard lock(slot->mutex);
        if (!slot->is_to_ask()) { // another call has asked meanwhile
            return;
        }
        taken = slot->taken;
    }
    Told told;
    bool others_tell = false;
    const auto begun = BootClock::now();
    auto untold = parts->keeper.take_untold(slot->key, taken, told, others_tell);
    {
        const std::lock_guard lock(slot->mutex);
        const auto now = BootClock::now();
        slot->others_tell = others_tell;
        slot->ask_from =
            now + std::max<BootClock::duration>(ask_interval, Slot::rest * (now - begun));
        if (!untold) {
            return;
        }
        slot->untold.add(std::move(told));
        slot->taken = std::move(untold);
    }
    settler_.watch(slot, parts);
}

/// Under slot.making.
void SessionManager::Implementation::obtain(Slot& slot, const std::shared_ptr<Parts>& parts,
                                            const sandbox::CallToCome& next)
{
    if (slot.unnamed) {
        slot.hold_claim(parts->keeper, *registry_);
    }
    MachineKeeper::Wanted wanted{slot.id, slot.key, slot.unnamed, {}};
    {
        const std::lock_guard lock(slot.mutex);
        wanted.seen = slot.seen;
        wanted.held = slot.sandbox;
        wanted.told_settings = slot.told_settings;
        wanted.taken = slot.taken;
        if (wanted.held && slot.tried == parts->version) {
            wanted.pending = slot.pending;
            // The others go on with what there is, and do not wait for this.
            slot.change_from = BootClock::now() + change_again(*backend_);
        }
    }
    wanted.next = next;
    try {
        make_or_find(slot, parts, wanted);
    } catch (...) {
        if (!wanted.held) {
            parts->keeper.drop_unused(slot.key);
            throw;
        }
        if (!goes_on_with_held(slot, *parts, wanted)) {
            throw;
        }
    }
}

/// After a change that failed: books that do not answer, or a host that makes no machine now, are
/// no reason to take away the one that there is; but that it can reach more than it should is.
bool SessionManager::Implementation::goes_on_with_held(Slot& slot, const Parts& parts,
                                                       const MachineKeeper::Wanted& wanted)
{
    const bool lives = answers(*wanted.held);
    Record record;
    {
        const std::lock_guard lock(slot.mutex);
        record = slot.record;
        if (!lives && slot.sandbox == wanted.held) { // it has ended for one that came to nothing
            slot.reported = std::exchange(slot.sandbox, nullptr);
        }
    }
    const bool reaches_more =
        parts.keeper.may_reach_more(record) ||
        (record.made_with && !excess(parts.settings, *record.made_with).empty());
    if (!lives || reaches_more) {
        return false;
    }
    const std::lock_guard lock(slot.mutex);
    slot.tried = parts.version;
    slot.pending.reset();
    slot.change_from = BootClock::now() + change_again(*backend_);
    return true;
}

/// What is given up may come when no call of the session does that would end it.
MachineKeeper::Obtained
SessionManager::Implementation::obtain_or_look_later(MachineKeeper& keeper,
                                                     const MachineKeeper::Wanted& wanted)
try {
    auto obtained = keeper.obtain(wanted);
    if (!obtained.record.late.empty()) {
        collect_late();
    }
    return obtained;
} catch (const sandbox::LeftBehind&) {
    collect_late();
    throw;
}

void SessionManager::Implementation::make_or_find(Slot& slot, const std::shared_ptr<Parts>& parts,
                                                  const MachineKeeper::Wanted& wanted)
{
    auto obtained = obtain_or_look_later(parts->keeper, wanted);
    if (obtained.sandbox != wanted.held) {
        obtained.sandbox->attend();
        if (!slot.unnamed) { // of which nobody else is told anything
            teller_.watch(obtained.sandbox);
        }
    }
    const auto& record = obtained.record;
    obtained.sandbox->rests_after(record.made_with ? record.made_with->idle_pause
                                                   : parts->settings.idle_pause);
    const bool has_seen = wanted.held || wanted.seen.generation == obtained.seen.generation;
    // One in use stays as it is until it is not: then it is replaced.
    const bool waits =
        has_seen && record.made_with &&
        (parts->keeper.wants_other_network(record) ||
         (backend_->renews_machines() && need_another(parts->settings, *record.made_with)));
    MachineKeeper::Pending pending;
    if (has_seen && record.made_with) {
        pending = {live_differences(parts->settings, *record.made_with), *record.made_with};
    }
    keep_obtained(slot, *parts, wanted, std::move(obtained), waits, std::move(pending));
    settler_.watch(slot.shared_from_this(), parts);
}

void SessionManager::Implementation::keep_obtained(Slot& slot, const Parts& parts,
                                                   const MachineKeeper::Wanted& wanted,
                                                   MachineKeeper::Obtained obtained, bool waits,
                                                   MachineKeeper::Pending pending)
{
    const std::lock_guard lock(slot.mutex);
    // Also of what this server was lent by the machine before, and had not come to tell.
    drop_told_again(slot.untold.notices, 0, obtained.told.notices);
    slot.untold.add(std::move(obtained.told));
    if (obtained.sandbox != wanted.held) {
        slot.taken = std::move(obtained.untold);
        slot.others_tell = obtained.others_tell;
    }
    slot.sandbox = std::move(obtained.sandbox);
    slot.reported.reset();
    if (!waits && pending.keys.empty()) {
        slot.version = parts.version;
    }
    slot.pending = std::move(pending);
    slot.tried = parts.version;
    slot.change_from = BootClock::now() + change_again(*backend_);
    if (leaving_ && !slot.unnamed) {
        slot.sandbox->leave_commands();
    }
    slot.told_settings = std::move(obtained.told_settings);
    slot.seen = std::move(obtained.seen);
    slot.remember(std::move(obtained.record));
    slot.touched = BootClock::now();
}

Lease SessionManager::Implementation::acquire(const SessionId& id, const sandbox::CallToCome& next)
{
    if (closed_) {
        throw Error(ErrorCode::sandbox_unavailable, "the server is stopping",
                    "Call again when it has been started again: a named session goes on there.");
    }
    const auto slot = slot_of(id);
    const auto parts = this->parts();
    slot->settle_told(parts->keeper);
    if (auto lease = lease_of(slot, parts, /*makes=*/false)) {
        return std::move(*lease);
    }
    if (parts->settings.collects) {
        start_collector({});
    }
    const std::unique_lock making(slot->making, parts->settings.lock_wait);
    if (!making) {
        throw busy_making(parts->settings.setup, "the sandbox of this session is still being made");
    }
    for (;;) {
        if (auto lease = lease_of(slot, parts, /*makes=*/true)) {
            return std::move(*lease);
        }
        obtain(*slot, parts, next);
    }
}

/// Calls that have begun go on by the settings they began with.
void SessionManager::Implementation::change(const Settings& later)
{
    const std::lock_guard lock(mutex_);
    if (is_same(parts_->settings, later)) {
        return; // else each session would be asked anew for what it was told to be different in
    }
    parts_ = std::make_shared<Parts>(with_later(parts_->settings, later), parts_->version + 1,
                                     *backend_, *registry_);
}

} // namespace berth::session
