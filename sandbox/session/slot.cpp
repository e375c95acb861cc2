#include "sandbox/session/slot.hpp"

namespace berth::session {

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
    // Times as long as a try in vain took: where the books do not answer, calls go on all the same.
    constexpr int rest = 10;
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

} // namespace berth::session
