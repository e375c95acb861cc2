#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/cgroups_ahead.hpp"
#include "sandbox/local/launcher/child_process.hpp"
#include "sandbox/local/launcher/guest_mounts.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/told.hpp"
#include "sandbox/local/launcher/wires.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth::local {

/// A machine's cgroups, namespaces and guest-to-be, made before it is known of which. The
/// namespaces are made by a process of its own, a child of the launcher, that is in all of them but
/// the one of pids, which begins with the guest-to-be: that is its launcher's child, too, and waits
/// to be told whose it is, under the filter already. They have the prepared root, entered; the user
/// namespace maps no ids yet, so both are nobody inside. The keeper itself is in a second mount
/// namespace, with the host's /proc beside that root; it ends with this object or the launcher, as
/// a guest-to-be does that was not released. As root only: nobody else can write the id map of a
/// process that others made.
class NamespaceKeeper {
  public:
    /// With the mount that `root` has ready, which stays of use to look at. Of `expected` all but
    /// the base; the guest-to-be lets go of it. Nothing where it cannot be made: then that mount
    /// may be gone, and the launch makes all of it itself and says what is wrong.
    [[nodiscard]] static std::optional<NamespaceKeeper>
    start(PreparedRoot& root, Ahead& expected, FilterProgram& filter,
          const ProcessName& process_name) noexcept;

    /// Whether it can be the spec's machine, whose root is the prepared one. False, too, when it
    /// has been killed.
    [[nodiscard]] bool fits(const LaunchSpec& spec) const;

    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

    [[nodiscard]] pid_t guest() const noexcept { return guest_.pid(); }

    /// As process_identity.hpp has it.
    [[nodiscard]] std::uint64_t guest_start_time() const noexcept { return guest_start_time_; }

    /// Of its user namespace.
    [[nodiscard]] const IdentityMaps& maps() const noexcept { return maps_; }

    /// Mounts `trees` for the guest-to-be, which may not do so itself, at the targets of the spec's
    /// binds, and gives its /dev/shm the spec's size. Throws Failure.
    void mount(const std::vector<Tree>& trees, const LaunchSpec& spec) const;

    /// Tells the guest-to-be, when the id maps are there. It goes on with run_child(). Throws
    /// Failure.
    void tell(const Told& what) const;

    /// Each once, and in the end.
    [[nodiscard]] std::unique_ptr<CgroupsAhead> take_cgroups() { return std::move(cgroups_); }

    [[nodiscard]] Wires take_wires() { return std::move(wires_); }

    [[nodiscard]] ChildProcess take_guest() { return std::move(guest_); }

  private:
    NamespaceKeeper(std::unique_ptr<CgroupsAhead> cgroups, ChildProcess process, Wires wires,
                    const Ahead& expected);
    [[nodiscard]] bool guest_waits();

    std::unique_ptr<CgroupsAhead> cgroups_; ///< first: it goes once nobody is in them
    ChildProcess process_;
    IdentityMaps maps_;
    Wires wires_;
    Surroundings surroundings_;
    std::uint64_t shm_size_;
    ChildProcess guest_{-1};
    std::optional<GuestMounts> mounts_; ///< the guest-to-be's
    std::uint64_t guest_start_time_ = 0;
};

} // namespace berth::local
