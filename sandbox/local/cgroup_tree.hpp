#pragma once

#include "sandbox/base/deadline.hpp"

#include <string>

namespace berth::local {

/// Ends every process in the cgroup directory `path` and below: cgroup.kill where the kernel has it
/// (v2, 5.14), else SIGKILL to what cgroup.procs lists, and what the freezer of v1 holds is let go
/// to die. Nothing happens when it is not there.
void kill_cgroup(const std::string& path);

/// Removes the directory and all below it, waiting for processes that are still dying until the
/// deadline. True when it is gone.
bool remove_cgroup(const std::string& path, const Deadline& deadline);

} // namespace berth::local
