#pragma once

#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/cgroup.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <vector>

namespace berth::local {

/// What the child has from the launcher.
struct ChildSetup {
    const LaunchSpec& spec;
    const Cgroups& cgroups;
    const FilterProgram& filter; ///< without a rule against namespaces
    std::vector<Tree> trees;     ///< as root, else made by the child
    UniqueFd program;            ///< likewise
    UniqueFd run_cgroup;         ///< likewise
    int maps_written_fd = -1;    ///< one byte when the identity maps are there
    int report_fd = -1;          ///< takes a ChildReport; closed by the exec
    int ready_fd = -1;           ///< becomes the guest's
    int listen_fd = -1;
    int lifetime_fd = -1;
};

/// Everything between clone3 and the exec of the guest, as pid 1 of the new namespaces. Does not
/// return.
[[noreturn]] void run_child(ChildSetup setup) noexcept;

} // namespace berth::local
