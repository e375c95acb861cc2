#pragma once

#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cstdint>

namespace berth::local {

/// Both work at once, and the server has more to do: of several hierarchies the launcher has one.
/// What is made ahead is the launcher's alone.
enum class V1Share : std::uint8_t { server, launcher, all };

/// Makes the v1 cgroups of one session, where limits are v1's: `guest` and `cmds` below
/// <base>/berth/<name> in each hierarchy of that share. All are joined by writing to the files that
/// are returned. Throws Failure; what was made by then stays, and is removed by the server with the
/// session's other cgroups.
[[nodiscard]] Handover make_v1_cgroups(const CgroupSpec& spec, V1Share share);

/// The spec's limits in place of those that they were made with. Throws Failure.
void limit_v1_cgroups(const CgroupSpec& spec);

} // namespace berth::local
