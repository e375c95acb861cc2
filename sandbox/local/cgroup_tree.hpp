#pragma once

#include "sandbox/base/deadline.hpp"

#include <string>

namespace berth::local {

/// Below the cgroup that a server was given: where it goes itself, since no process may be beside
/// the machines' there.
inline constexpr const char* server_leaf = "/berth-server";

/// Ends every process in the cgroup directory `path` and below: cgroup.kill where the kernel has it
/// (v2, 5.14), else SIGKILL to what cgroup.procs lists, and what the freezer of v1 holds is let go
/// to die. Nothing happens when it is not there.
void kill_cgroup(const std::string& path);

/// Removes the directory and all below it, waiting for processes that are still dying until the
/// deadline. True when it is gone.
bool remove_cgroup(const std::string& path, const Deadline& deadline);

/// For who has removed a cgroup in `folder`, the one that berth made in the cgroup of a server:
/// where it was the last, the folder goes, without which whoever made the server's cgroup could not
/// remove that; and that too, where it is a unit of systemd and no process is in it any more.
/// Systemd removes them with a unit that has ended, and is given 100 ms for it; but its walk
/// through them stops at what another removes meanwhile (glibc's nftw: ENOENT), and then they stay
/// for ever.
void remove_abandoned(const std::string& folder);

} // namespace berth::local
