#include "sandbox/session/replaced_mounts.hpp"

#include "sandbox/base/joined.hpp"

#include <mutex>
#include <string>
#include <utility>

namespace berth::session {

void tell_of_mounts(Slot& slot, Lease& lease, sandbox::Backend& backend)
{
    // Of calls at once one looks: a disk that does not answer holds nobody else up.
    const std::unique_lock look(slot.looking, std::try_to_lock);
    if (!look) {
        return;
    }
    auto replaced = lease.sandbox->machine().replaced_mounts();
    if (slot.told_replaced == replaced) {
        return;
    }
    if (!replaced.empty() && backend.is_gone(lease.sandbox->machine().record())) {
        return; // the one that the call gets has what is there now
    }
    slot.told_replaced = std::move(replaced);
    if (slot.told_replaced.empty()) {
        return;
    }
    lease.notices.push_back(
        "the host has deleted or replaced what is mounted from " + joined(slot.told_replaced) +
        ": the sandbox still has the old one, whose changes do not come to what is at that path "
        "now. `berth sessions kill " +
        lease.sandbox->machine().record().id +
        "` on the host ends the sandbox and keeps its home; the next call mounts the new one");
}

} // namespace berth::session
