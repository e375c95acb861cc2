#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/expected.hpp"
#include "sandbox/local/host_files.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/source_rules.hpp"

#include <map>
#include <string>
#include <vector>

namespace berth::local {

/// Everything that is known before a machine is made.
struct PlanInput {
    const sandbox::MachineSpec& spec;
    const Ahead& ahead; ///< make_ahead() of the spec's network
    const CgroupLayout& cgroups;
    std::string cgroup;       ///< what its cgroups are called
    bool named_ahead = false; ///< as in the LaunchSpec
    std::string folder;       ///< of the session
    std::string socket_path;
    std::string guest_program;
    bool privileged = false;
    unsigned host_uid = 0;
    unsigned host_gid = 0;
    /// The proxy opens TLS: the machine is shown the folder of what it trusts, `bundle` of it also
    /// in the place of the host's own, where that has one (HostBundle::usual_path).
    bool opens_tls = false;
    std::string bundle{};
    std::map<std::string, FileId> sources; ///< of the spec's mounts, as they were checked
};

/// What is the same for every machine with this network. `resolv_conf`: resolv_conf_for() it;
/// `hidden`: of find_hidden().
[[nodiscard]] RootParts base_parts(const HostFiles& host, sandbox::Network network,
                                   const std::string& resolv_conf,
                                   const std::vector<Cover>& hidden);

/// That, its surroundings and its cgroups; the folder of sockets is the caller's.
[[nodiscard]] Ahead make_ahead(const HostFiles& host, const Expected& expected,
                               const CgroupLayout& cgroups);

/// The whole of what the launcher shall do. `spec.mounts` must have been checked. Pure.
[[nodiscard]] LaunchSpec make_plan(const PlanInput& input);

/// Does nothing but show that a sandbox can be made here.
[[nodiscard]] LaunchSpec make_probe(bool privileged, unsigned host_uid, unsigned host_gid);

} // namespace berth::local
