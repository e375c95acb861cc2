#pragma once

#include "sandbox/local/launcher/child.hpp"

namespace berth::local {

/// Becomes the guest: only the descriptors that its configuration names stay open, the environment
/// is empty, 0 to 2 are the sandbox's own /dev/null. Returns only by throwing Failure.
void exec_guest(const ChildSetup& setup);

} // namespace berth::local
