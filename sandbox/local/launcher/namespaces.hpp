#pragma once

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cstdint>

#include <sched.h>

namespace berth::local {

/// clone3(2) flags of the namespaces that are the same for many machines.
[[nodiscard]] inline std::uint64_t surrounding_namespaces(const Surroundings& surroundings) noexcept
{
    constexpr std::uint64_t all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    return surroundings.own_network ? all | CLONE_NEWNET : all;
}

/// Whether what was made for `made` may be that of this machine, as far as its spec tells. What is
/// made ahead is root's, and a probe or a guest that is another program has other steps.
[[nodiscard]] inline bool has_surroundings(const LaunchSpec& spec, const Surroundings& made)
{
    return !spec.probe && spec.privileged && spec.become_guest && spec.surroundings == made;
}

/// Adds those that begin with the guest-to-be, born in `cgroup`. -1: in the caller's.
inline void add_own_namespaces(clone_args& args, const CgroupSpec& spec, int cgroup) noexcept
{
    args.flags |= CLONE_NEWPID;
    if (spec.new_namespace) {
        args.flags |= CLONE_NEWCGROUP;
    }
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<unsigned>(cgroup);
    }
}

} // namespace berth::local
