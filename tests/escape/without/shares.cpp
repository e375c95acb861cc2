// In the place of sandbox/local/launcher/kernel_shares.cpp: the launcher whose sessions may take
// all that the kernel lets one user have, so that a test can see that they do where nothing stops
// them. Never installed.

#include "sandbox/local/launcher/kernel_shares.hpp"

namespace berth::local {

void limit_kernel_shares(const Root& /*root*/) {}

} // namespace berth::local
