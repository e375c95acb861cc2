#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace berth::local {

/// The cgroups (v2) of one session:
///
///     <base>/berth/<name>/guest     the guest, with a small limit of its own
///     <base>/berth/<name>/cmds      the limits of all commands together
///     <base>/berth/<name>/cmds/run  handed to the guest, one child for each command
///
/// Only `run` is the session user's, and a process inside sees nothing above it: the limits cannot
/// be reached. Removed by the destructor unless keep() was called.
class Cgroups {
  public:
    /// What the guest is born into. Controllers are enabled now, while the cgroups are empty: later
    /// it would mean to wait for the kernel (an RCU grace period).
    explicit Cgroups(CgroupSpec spec);
    ~Cgroups();
    Cgroups(const Cgroups&) = delete;
    Cgroups& operator=(const Cgroups&) = delete;

    /// Everything else; needed once the child has built its root. What is handed over of it goes
    /// before what v1 has of the same.
    [[nodiscard]] Handover make_for_commands();

    /// The limits of that one in place of those that they were made with.
    void limit(const CgroupSpec& other);

    /// Makes of that what the guest needs the session's. Returns `run` as a mount, as root; else
    /// the child opens it.
    [[nodiscard]] UniqueFd give_run(const LaunchSpec& spec);

    void keep() noexcept { kept_ = true; }

    /// The names of the layers that the kernel refused although it has their controller: a kernel
    /// may be built without the bandwidth control by which processor time is limited.
    [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

    /// For CLONE_INTO_CGROUP of the guest; -1: none.
    [[nodiscard]] int guest_fd() const noexcept { return guest_.get(); }

    /// For a guest that cannot start commands in cgroups of their own: v2 limits then hold for it
    /// and them together, since outside of limits no command may run. (v1 is joined otherwise.)
    void keep_commands_with_guest();

  private:
    void make_guest();
    void limit_guest();
    void set_limits(const std::string& path);
    void limit_cpu(const std::string& path, std::uint64_t quota);

    CgroupSpec spec_;
    std::string session_; ///< empty: no cgroups
    bool kept_ = false;
    std::vector<std::string> missing_;
    UniqueFd guest_;
};

/// Where the guest makes one cgroup for each command; empty: commands get none.
[[nodiscard]] std::string run_cgroup_path(const CgroupSpec& spec);

} // namespace berth::local
