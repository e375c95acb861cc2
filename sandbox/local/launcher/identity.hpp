#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <sys/types.h>

namespace berth::local {

/// In the launcher: gives the user namespace of a child its one user and group. To find and open
/// the files takes longer than to write them, and can be done before it is known whose it will be.
/// Both throw Failure.
class IdentityMaps {
  public:
    explicit IdentityMaps(pid_t child);

    /// Once.
    void write(const LaunchSpec& spec) const;

  private:
    pid_t child_;
    UniqueFd uids_;
    UniqueFd gids_;
};

/// In the child, once its maps are written: becomes that user and keeps the capabilities that it
/// has in its own namespace.
void assume_identity(const LaunchSpec& spec);

/// A user namespace (as an open nsfs descriptor) that maps the owner `uid:gid` of a mount's files
/// to the session's user, for MOUNT_ATTR_IDMAP.
[[nodiscard]] UniqueFd make_owner_map(uid_t uid, gid_t gid, const LaunchSpec& spec);

} // namespace berth::local
