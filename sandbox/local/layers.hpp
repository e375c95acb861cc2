#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The detail of a layer that the kernel itself lacks: nothing that an operator does brings it.
inline constexpr const char* kernel_lacks_limit =
    "this kernel has the controller, but not the limit";

/// What confines a machine that was launched as `plan`, truthfully: every known layer is listed, in
/// force or not, with how or what would bring it. `no_own_uids`: see privilege.hpp.
/// `quota_obstacle`: why the kernel does not keep session.quota, if that is set; empty: it does.
/// `template_directory`: whose programs are shown; empty: the host's.
[[nodiscard]] std::vector<sandbox::Layer>
layers_of(const LaunchSpec& plan, const LaunchResult& result, const CgroupLayout& cgroups,
          const std::string& no_own_uids, const std::string& quota_obstacle,
          const std::string& template_directory = {});

/// Of them those that a cgroup brings to the limits of all commands together. `command_cgroups`:
/// each command has a cgroup of its own, so the guest is outside.
[[nodiscard]] std::vector<sandbox::Layer> limit_layers(const CgroupLayout& cgroups,
                                                       bool command_cgroups);

} // namespace berth::local
