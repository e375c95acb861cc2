#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/root.hpp"

#include <functional>

#include <sys/types.h>

namespace berth::local {

/// The mount namespace of a guest-to-be, which the launcher enters to mount what is the session's:
/// the guest-to-be is under its filter long before it is known whose it is, and may mount nothing.
/// As root only. For the one thread of a process that shares its working directory with no other.
class GuestMounts {
  public:
    /// Opens what it takes to get there and back. `guest`: a child that this process has not waited
    /// for, in the namespace that it will have. Throws Failure.
    explicit GuestMounts(pid_t guest);

    /// Calls `work` there, with the root that the session will have, and comes back whatever it
    /// throws; passes that on. Throws Failure when it cannot get there. A process that cannot come
    /// back ends: what it would clear up after itself it would seek in the sandbox.
    void visit(const std::function<void(const Root&)>& work) const;

    /// Mounts `trees` at the targets of the spec's binds, as Root::attach_all(). What is missing of
    /// these is made by the session's user, with no more rights than that: an earlier machine of
    /// the session has had its home, and root would make there what its user may not.
    void attach(const std::vector<Tree>& trees, const LaunchSpec& spec) const;

  private:
    void come_back() const noexcept;

    UniqueFd theirs_;
    UniqueFd own_;
    UniqueFd own_root_;
    UniqueFd own_directory_;
};

} // namespace berth::local
