#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace berth::local {

/// When a process started, in clock ticks since boot (field 22 of /proc/PID/stat); nothing when it
/// is gone. Together with the boot's id it tells a process from a later one with the same pid.
/// Throws std::system_error when that cannot be found out.
[[nodiscard]] std::optional<std::uint64_t> start_time(pid_t pid);

/// Whether that process has certainly ended. What cannot be found out, has not.
[[nodiscard]] bool process_has_ended(pid_t pid, std::uint64_t started, const std::string& boot);

/// A pidfd of the process if it still is the one that started at `started` in boot `boot`, else an
/// invalid one. Throws std::system_error when that cannot be found out: no descriptor is left, say.
[[nodiscard]] UniqueFd open_process(pid_t pid, std::uint64_t started, const std::string& boot);

} // namespace berth::local
