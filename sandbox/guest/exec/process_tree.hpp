#pragma once

#include "sandbox/base/process_stat.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::guest {

/// Nothing when it is gone or could not be read; `unread`, if given, is set for the latter alone.
[[nodiscard]] std::optional<ProcessStat> read_process(pid_t pid, bool* unread = nullptr);

/// Every process that /proc shows. Not a snapshot: what forks meanwhile may be missed, so whoever
/// must be sure scans again until nothing new turns up. `unread`, if given, is set when there may
/// be more, because a descriptor or memory was wanting.
[[nodiscard]] std::vector<ProcessStat> all_processes(bool* unread = nullptr);

/// The living ones below `roots`, the roots themselves left out.
[[nodiscard]] std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& all,
                                                   const std::vector<pid_t>& roots);

/// Signals the very process that was seen: a pid that was recycled since is left alone. False when
/// it is gone.
bool signal_process(const ProcessStat& seen, int number);

/// For people, control characters replaced, at most 120 bytes; empty where there is none, as of a
/// process that has ended. It stands in the process's memory, so this waits for whoever has that
/// locked: an mmap of a file whose disk does not answer, for as long. Never on the loop's thread.
[[nodiscard]] std::string command_line(pid_t pid);

/// The kernel's short name in brackets, control characters replaced. Waits for nobody.
[[nodiscard]] std::string short_process_name(pid_t pid);

} // namespace berth::guest
