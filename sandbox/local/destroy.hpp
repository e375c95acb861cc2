#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/cgroup_layout.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The cgroup directories of the machine `id`, one in each hierarchy that is used.
[[nodiscard]] std::vector<std::string> session_cgroups(const CgroupLayout& layout,
                                                       const std::string& id);

/// Ends the machine of a record: its processes first, then cgroups, socket and temporary folders,
/// with `purge` the home and the host uid too. Of a record whose session has a later machine only
/// the process is ended. Idempotent. Throws Error(backend_error) when a process would not die.
void destroy_machine(const sandbox::MachineRecord& record, bool purge, bool privileged);

} // namespace berth::local
