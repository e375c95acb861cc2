#pragma once

#include "sandbox/local/v1_bases.hpp"

#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::local {

/// Where on this host sessions can have cgroups. Directories are absolute and exist; empty: none.
struct CgroupLayout {
    std::string v2_base;
    bool v2_controllers = false;
    /// And io, which is not always delegated: nothing depends on it.
    bool v2_io = false;
    /// False under the mount option nsdelegate: a new cgroup namespace has its root at the guest's
    /// own cgroup, and the kernel would not let the guest start commands in their cgroups beside
    /// it.
    bool namespace_fits = true;
    V1Bases v1;

    /// In which sessions have cgroups, each once, in order.
    [[nodiscard]] std::set<std::string> directories() const
    {
        auto all = v1.directories();
        all.insert(v2_base);
        all.erase("");
        return all;
    }

    [[nodiscard]] bool kills() const noexcept { return !v2_base.empty(); }

    [[nodiscard]] bool limits_memory() const noexcept
    {
        return v2_controllers || !v1.memory.empty();
    }

    [[nodiscard]] bool limits_pids() const noexcept { return v2_controllers || !v1.pids.empty(); }

    [[nodiscard]] bool limits_cpu() const noexcept { return v2_controllers || !v1.cpu.empty(); }
};

/// Reads <root>/proc/self/{mountinfo,cgroup} and looks at the directories they name below `root`
/// ("" for the real ones). As root the top of v2 is taken unless the caller's own cgroup is
/// delegated; an ordinary user needs a delegated one. Changes nothing.
[[nodiscard]] CgroupLayout find_cgroups(const std::string& root, bool privileged);

/// v2 gives controllers to children only of a cgroup without processes: where the caller alone is
/// in `base`, or with the first process of its container, its parent, moves these to a child.
/// Without this, or where it fails, `v2_controllers` becomes false.
void prepare_delegated(CgroupLayout& layout);

/// What gives `user` cgroups with limits where `root` is the host's ("" for the real one).
[[nodiscard]] std::string cgroup_remedy(const std::string& root, uid_t user);

} // namespace berth::local
