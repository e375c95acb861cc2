#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/programs.hpp"

#include <memory>
#include <string>

namespace berth::local {

/// What is the same for every machine of this server.
struct Host {
    std::string state; ///< real path of the state directory
    UniqueFd state_fd;
    std::string runtime;
    CgroupLayout cgroups;
    std::unique_ptr<ProgramFinder> programs;
};

/// Makes the state directory when missing. Throws Error, std::system_error.
[[nodiscard]] Host look_at_host(const Settings& settings, const CgroupLayout& cgroups,
                                bool privileged);

} // namespace berth::local
