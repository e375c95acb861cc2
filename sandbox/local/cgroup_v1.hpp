#pragma once

#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"

namespace berth::local {

/// Makes the v1 cgroups of one session, where limits are v1's: `guest` and `cmds` below
/// <base>/berth/<name> in each hierarchy. Called by the server while the launcher works on the
/// rest. All are joined by writing to the files that are returned. Throws Failure; what was made by
/// then stays, and is removed with the session's other cgroups.
[[nodiscard]] Handover make_v1_cgroups(const CgroupSpec& spec);

} // namespace berth::local
