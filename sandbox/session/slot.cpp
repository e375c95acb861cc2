#include "sandbox/session/slot.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/session/departure.hpp"

#include <exception>
#include <utility>

namespace berth::session {

void Slot::hold_claim(const MachineKeeper& keeper, Registry& registry)
{
    // Let go of only when it is worth nothing, because whoever deleted the session has deleted the
    // claimed file with it: in a moment without it a collector would take the session for dead.
    if (!(claim && claim->holds())) {
        claim = registry.claim(key);
    }
    if (!claim) {
        throw Error(ErrorCode::busy, "the session is being cleared up by another server",
                    "try again in a few seconds");
    }
    keeper.hold_claim_here(key, claim_here);
}

void Slot::remember(Record obtained)
{
    record = std::move(obtained);
    record.machine.data.clear();
}

std::optional<Record> Slot::remembered()
{
    const std::lock_guard lock(mutex);
    const auto& held = sandbox ? sandbox : reported;
    if (!held) {
        return std::nullopt;
    }
    Record whole = record;
    whole.machine.data = held->machine().record().data;
    whole.machine.data["key_hash"] = key; // which one that was just made has not
    return whole;
}

void Slot::settle_told(MachineKeeper& keeper)
{
    {
        const std::lock_guard lock(mutex);
        if (BootClock::now() < settled_from) {
            return;
        }
    }
    settle_told(keeper, Deadline::after({}));
}

void Slot::settle_told(MachineKeeper& keeper, const Deadline& patience)
{
    Untold read;
    {
        const std::lock_guard lock(mutex);
        if (!taken.is_read()) {
            return;
        }
        read = taken;
    }
    const auto begun = BootClock::now();
    const bool settled = keeper.forget_told(key, read, patience);
    const std::lock_guard lock(mutex);
    if (!settled) {
        const auto now = BootClock::now();
        settled_from = now + rest * (now - begun);
    } else if (taken.is_same(read)) { // else a call has taken more meanwhile
        taken = {};
    }
}

void Slot::let_others_tell() noexcept
{
    Untold last; // its end asks the books
    const std::lock_guard lock(mutex);
    last = std::exchange(taken, {});
}

void Slot::keep_unheard(MachineKeeper& keeper, const Deadline& patience)
{
    std::vector<std::string> unheard;
    {
        const std::lock_guard lock(mutex);
        unheard = std::exchange(untold.unheard, {});
    }
    if (!unheard.empty()) {
        keeper.keep_for_next(key, unheard, patience);
    }
}

void Slot::depart(MachineKeeper& keeper, protocol::OnDisconnect usual) noexcept
{
    constexpr std::chrono::seconds lock_time{1};
    std::shared_ptr<sandbox::Sandbox> left;
    auto policy = usual;
    {
        const std::lock_guard lock(mutex);
        if (sandbox != departed) { // else it was left
            left = departed = sandbox;
        }
        policy = left && record.made_with ? record.made_with->on_disconnect : usual;
    }
    if (left && !left->machine().reach().kept && !left->machine().may_sleep()) {
        policy = keeper.on_disconnect_of(key, left->machine().record().generation).value_or(policy);
    }
    if (!left || !session::depart(*left, policy) || policy != protocol::OnDisconnect::kill) {
        return;
    }
    try {
        keeper.end_left(key, *left, Deadline::after(lock_time));
    } catch (const std::exception&) {
        return; // it stays, and is collected when nobody has used it for long
    }
}

void Slot::end_unnamed(MachineKeeper& keeper, std::chrono::seconds patience, const Deadline& far,
                       const TellOfLeft& left)
{
    const WaitBound bound({}, far);
    std::string why;
    try {
        // A creation in flight is given a moment; what it leaves, the next server collects.
        const std::unique_lock in_making(making, patience);
        if (in_making && claim) {
            // What is to be saved of it has no time now: its home stays for the next collection.
            keeper.end(
                key, {.purge = true, .files = AtEnd::leave, .deadline = Deadline::after(patience)});
            claim.reset();
            claim_here.reset();
        }
        if (in_making) {
            return;
        }
        why = "it was still being made";
    } catch (const std::exception& error) { // its record stays, its claim ends with this process
        why = error.what();
    }
    if (left) {
        const std::lock_guard lock(mutex);
        left(sandbox ? sandbox->machine().record().id : std::string(), why);
    }
}

} // namespace berth::session
