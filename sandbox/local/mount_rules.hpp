#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/own_folders.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// Throws Error(invalid_argument) that says why when `target` may not be mounted on: not absolute
/// and plain, or in the way of what the sandbox is made of.
void check_mount_target(const std::string& target);

/// Throws Error(invalid_argument) that says why when one may not be: its target as above, twice the
/// same target, or without a place in the read-only mount it lies in; its source when it is
/// missing, neither folder nor file, reached through a symbolic link (an earlier sandbox with a
/// writable mount may have put it there), of no use to who runs berth, on or above a kernel file
/// system, or one that shows something of one of `own` (with them a sandbox could reach every
/// other), by whatever name: what is mounted below a source is shown with it. Folders of `own` need
/// not be there yet. Returns them parents first.
[[nodiscard]] std::vector<sandbox::Mount> checked_mounts(std::vector<sandbox::Mount> mounts,
                                                         const std::vector<OwnFolder>& own);

} // namespace berth::local
