#pragma once

#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// Of a machine that lives, in its cgroups (`sessions`: MachineFacts::cgroups, of either version).
/// A limit below what is used is not set: Linux would kill for it (v2), or refuse (v1). False for
/// what no cgroup here limits, and where a file cannot be written: one of them is another user's,
/// or gone.
[[nodiscard]] sandbox::ChangedLimits change_cgroup_limits(const std::vector<std::string>& sessions,
                                                          const sandbox::Limits& limits);

} // namespace berth::local
