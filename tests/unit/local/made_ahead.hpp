#pragma once

#include "tests/unit/local/machine_fixture.hpp"

#include <string>

#include <sys/types.h>

namespace berth::local::test {

/// As root, and where the kernel tells a launcher the place of its thread's number
/// (CONFIG_CHECKPOINT_RESTORE, which Debian's kernel as a program lacks). Elsewhere nothing is.
[[nodiscard]] bool makes_ahead();

/// Of /proc/PID/status (proc(5)); empty where that process has just ended.
[[nodiscard]] std::string field(pid_t pid, const std::string& name);

/// What this process's waiting launcher has made ahead: who keeps the namespaces, and the
/// guest-to-be. -1: there is none that lives.
[[nodiscard]] pid_t keeper();
[[nodiscard]] pid_t next_guest();

/// A launcher of this process does, for something to do or for what it makes ahead.
[[nodiscard]] bool launcher_waits();

/// The keeper, once all is made that is made ahead: it has left the host's root then.
[[nodiscard]] pid_t ready_keeper(const Bench& bench);

} // namespace berth::local::test
