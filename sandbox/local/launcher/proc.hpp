#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// A new /proc of the child's own pid namespace.
void mount_proc(const Root& root);

} // namespace berth::local
