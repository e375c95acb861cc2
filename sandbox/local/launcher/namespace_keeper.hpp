#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/child_process.hpp"
#include "sandbox/local/launcher/identity.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/wires.hpp"

#include <optional>
#include <utility>

#include <sys/types.h>

namespace berth::local {

/// What a guest-to-be that is born by a keeper has from its launcher at once. -1: none.
struct Birth {
    int spec = -1;   ///< a file, the encoded LaunchSpec
    int cgroup = -1; ///< of v2, to be born in
    int lifetime = -1;
    int proxy = -1;
};

/// The namespaces of one machine, made before it is known of which: a process of its own, a child
/// of the launcher, that is in all of them but the one of pids, which has to begin with the guest.
/// They have the prepared root, entered; the user namespace maps no ids yet. The keeper itself is
/// in a second mount namespace, with the host's /proc beside that root. It has one child, ends with
/// this object or the launcher, and is in no namespace of pids that a session can see.
/// As root only: nobody else can write the id map of a process that others made.
class NamespaceKeeper {
  public:
    /// With the mount that `root` has ready, which stays of use to look at. Nothing where it cannot
    /// be made: then that mount may be gone, and the launch makes the namespaces itself and says
    /// what is wrong.
    [[nodiscard]] static std::optional<NamespaceKeeper>
    start(PreparedRoot& root, const Surroundings& surroundings, FilterProgram& filter,
          const ProcessName& process_name) noexcept;

    /// Whether it can be the spec's machine, whose root is the prepared one. False, too, when it
    /// has been killed.
    [[nodiscard]] bool fits(const LaunchSpec& spec) const;

    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

    /// Of its user namespace.
    [[nodiscard]] const IdentityMaps& maps() const noexcept { return maps_; }

    /// Those of the guest-to-be. Once.
    [[nodiscard]] Wires take_wires() { return std::move(wires_); }

    /// Has the guest-to-be born, a child of this process, when the id maps are there. It runs
    /// run_child(). `wires`: which were taken. Throws Failure; who was born all the same ends with
    /// the wires then.
    [[nodiscard]] pid_t give_birth(const Wires& wires, const Birth& birth);

  private:
    NamespaceKeeper(ChildProcess process, Wires wires, Surroundings surroundings);

    ChildProcess process_;
    IdentityMaps maps_;
    Wires wires_;
    Surroundings surroundings_;
};

} // namespace berth::local
