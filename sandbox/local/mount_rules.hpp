#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/own_folders.hpp"
#include "sandbox/local/source_rules.hpp"

#include <map>
#include <string>
#include <vector>

namespace berth::local {

/// Throws Error(invalid_argument) that says why when `target` may not be mounted on: not absolute
/// and plain, or in the way of what the sandbox is made of.
void check_mount_target(const std::string& target);

struct CheckedMounts {
    std::vector<sandbox::Mount> mounts; ///< parents first
    /// By its path which file or folder each source was when it was looked at.
    std::map<std::string, FileId> sources;
};

/// Throws Error(invalid_argument) that says why when one may not be: its target as above, twice the
/// same target, or without a place in the read-only mount, or the part of a template, that it lies
/// in; its source as check_source() has it. `shown`: what the sandbox has besides. `own_uids`: what
/// runs inside is none of the users whose files these are, so a read-only source must be open to
/// all (writable ones are mapped to their owner).
[[nodiscard]] CheckedMounts checked_mounts(std::vector<sandbox::Mount> mounts,
                                           const std::vector<OwnFolder>& own,
                                           const std::vector<Bind>& shown = {},
                                           bool own_uids = false);

} // namespace berth::local
