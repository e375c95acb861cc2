#pragma once

namespace berth::local {

/// Of the launcher and, inherited, the guest: no core files nor a host's program that takes
/// them, no priority over others, as many descriptors as the host allows, and of processor time,
/// memory, processes and file size no other limit than cgroups and settings set; for an ordinary
/// user the hard limits stay. Those of the commands are the guest's to set.
void set_resource_limits();

/// In the child of a new user namespace, for good: queued signals and POSIX timers, a sixteenth of
/// what this process may have, at most 4096. Not of the launcher, whose limit when it makes the
/// namespace is that of all sessions together: what they have of these the kernel counts for who
/// made their namespaces, too. Throws Failure.
void limit_pending_signals();

/// The same of memory that may not be swapped out, which the kernel counts so where it is shared
/// memory (SHM_LOCK): a sixteenth, 64 KiB at least and 512 at most. Throws Failure.
void limit_locked_memory();

/// Where the operator has the server spared when the host is out of memory (a negative
/// oom_score_adj), its sandboxes are not: as root for good, so that no command can have it back.
void give_up_oom_protection() noexcept;

} // namespace berth::local
