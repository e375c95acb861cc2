#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// Covers what tells of, or changes, the host. After this /proc/sys cannot be written.
void mask_proc(const Root& root);

} // namespace berth::local
