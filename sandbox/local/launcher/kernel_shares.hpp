#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// Of what the kernel also counts for the user who made a user namespace, this session's part: a
/// quarter of the inotify instances and watches that a user of the host may have
/// (user.max_inotify_* of the child's own user namespace, as far as they may be written), and of
/// queued signals, POSIX timers and locked memory what limit_pending_signals() and
/// limit_locked_memory() leave. In the child, before its /proc/sys is read-only. Throws Failure.
void limit_kernel_shares(const Root& root);

} // namespace berth::local
