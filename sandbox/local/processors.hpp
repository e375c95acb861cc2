#pragma once

#include <string>

#include <sys/types.h>

namespace berth::local {

/// Those that this process may use, for give_processors_back(). Empty where that cannot be told.
[[nodiscard]] std::string own_processors();

/// Keeps `process`, of one thread, off the processor that this thread runs on, until it takes its
/// processors back. In a virtual machine a processor that has nothing to do looks preempted to the
/// kernel, which then leaves a woken or new process on its waker's: it would wait until that one
/// has nothing more to do, and the two are to work side by side. Returns what it could use before:
/// it may not have begun to run yet, and cannot look itself. Empty where this cannot be done, for
/// want of a second processor, say: then nothing was changed.
std::string keep_off_this_processor(pid_t process);

/// In the process that was kept off one; or by whoever did so, who now leaves it this processor.
/// Does nothing for "".
void give_processors_back(const std::string& processors, pid_t process = 0) noexcept;

/// `process` may run where this thread may, and not elsewhere.
void share_processors(pid_t process) noexcept;

} // namespace berth::local
