#pragma once

#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/proc.hpp"
#include "sandbox/local/launcher/proc_masks.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/root.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/told.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <functional>
#include <string>
#include <vector>

namespace berth::local {

/// What of a machine is the same for many.
struct DoneAhead {
    Root root; ///< entered, with all of the spec's base and /dev
    ProcNamespace proc;
    ProcCovers covers;
};

/// What the child has from the launcher when it is born. The rest is handed over later.
struct ChildSetup {
    LaunchSpec& spec;
    FilterProgram& filter; ///< without a rule against namespaces
    const ProcessName& process_name;
    /// In namespaces that were made ahead (NamespaceKeeper): then `spec` is an empty one until the
    /// child is told, over `handover_fd`, and what else it is told comes into `heard`. It waits for
    /// that under the filter, and what it is to have mounted its launcher mounts. Null: they are
    /// new, and all binds but the late ones in `trees`.
    DoneAhead* ahead = nullptr;
    const std::vector<UniqueFd>* guest_tasks = nullptr; ///< of v1, which it joins ahead
    Heard heard;
    UniqueFd prepared_root;       ///< as root, with the spec's base in it; none: it is to be made
    RootParts base;               ///< the spec's, unless the root is prepared
    std::vector<Tree> base_trees; ///< as root, unless the root is prepared; else made by the child
    std::vector<Tree> trees;      ///< as root, without the late ones; else made by the child
    UniqueFd program;             ///< likewise; none when the child becomes the guest itself
    int handover_fd = -1;         ///< in new namespaces one byte when the identity maps are there;
                                  ///< then the Handover
    int report_fd = -1;           ///< takes a ChildReport; closed when the guest begins
    int ready_fd = -1; ///< becomes the guest's; takes a byte, too, when it waits to be told
    int lifetime_fd = -1;
    int proxy_fd = -1;      ///< of a filtered network; becomes the guest's
    std::string processors; ///< which it may have again when it begins
    /// Of a launcher that has forked this: frees what that has in memory of its machine.
    std::function<void()> forget_launchers;
};

/// Host name and network of the namespaces that this process is in.
void surround(const Surroundings& surroundings);

/// Everything between clone3 and the guest, as pid 1 of the new namespaces. Does not return.
[[noreturn]] void run_child(ChildSetup setup) noexcept;

} // namespace berth::local
