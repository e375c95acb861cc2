#pragma once

#include "sandbox/local/handover.hpp"
#include "sandbox/local/launcher/child.hpp"

namespace berth::local {

/// Becomes the guest, in this program or by exec as the spec says: only the descriptors that its
/// configuration names stay open, the environment is empty, 0 to 2 are the sandbox's own /dev/null.
/// Returns only by throwing Failure.
void become_guest(ChildSetup& setup, Handover& handover);

} // namespace berth::local
