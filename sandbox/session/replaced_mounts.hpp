#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/session/slot.hpp"

// Of the session manager alone.

namespace berth::session {

/// Adds to the lease's notices what of its mounts the host has deleted or replaced since the last
/// time. Once for each change: a folder that was made anew on the host (by a checkout, an editor
/// that renames) would else look to the model as if its files were gone, or had never changed.
/// Not of a machine that `backend` knows to be gone.
void tell_of_mounts(Slot& slot, Lease& lease, sandbox::Backend& backend);

} // namespace berth::session
