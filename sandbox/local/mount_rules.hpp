#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/own_folders.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// Throws Error(invalid_argument) that says why when `target` may not be mounted on: not absolute
/// and plain, or in the way of what the sandbox is made of.
void check_mount_target(const std::string& target);

/// Throws Error(invalid_argument) that says why when `source` may not be shown inside: missing,
/// neither folder nor file, reached through a symbolic link (an earlier sandbox with a writable
/// mount may have put it there), on or above a kernel file system, or one that shows something of
/// one of `own` (with them a sandbox could reach every other), by whatever name: what is mounted
/// below a source is shown with it. Folders of `own` need not be there yet.
void check_mount_source(const std::string& source, const std::vector<OwnFolder>& own);

/// Checks all, that no two targets are the same, and that what lies in a read-only one has a place
/// there; returns them parents first.
[[nodiscard]] std::vector<sandbox::Mount> checked_mounts(std::vector<sandbox::Mount> mounts,
                                                         const std::vector<OwnFolder>& own);

} // namespace berth::local
