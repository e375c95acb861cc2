#pragma once

#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// What the child has from the launcher when it is born. The rest is handed over later.
struct ChildSetup {
    LaunchSpec& spec;
    FilterProgram& filter; ///< without a rule against namespaces
    const ProcessName& process_name;
    UniqueFd prepared_root;       ///< as root, with the spec's base in it; none: it is to be made
    std::vector<Tree> base_trees; ///< as root, unless the root is prepared; else made by the child
    std::vector<Tree> trees;      ///< as root, without the late ones; else made by the child
    UniqueFd program;             ///< likewise; none when the child becomes the guest itself
    int handover_fd = -1;         ///< one byte when the identity maps are there, then the Handover
    int report_fd = -1;           ///< takes a ChildReport; closed when the guest begins
    int ready_fd = -1;            ///< becomes the guest's
    int lifetime_fd = -1;
    int proxy_fd = -1;      ///< of a filtered network; becomes the guest's
    std::string processors; ///< which it may have again once the maps are there
};

/// Everything between clone3 and the guest, as pid 1 of the new namespaces. Does not return.
[[noreturn]] void run_child(ChildSetup setup) noexcept;

} // namespace berth::local
