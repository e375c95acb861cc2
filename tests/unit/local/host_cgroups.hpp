#pragma once

#include <string>

namespace berth::local::test {

/// Whether this user may make cgroups in which the host's kernel limits "memory", "pids" or "cpu".
/// Found out otherwise than by the code under test, and for root only: whether somebody has
/// delegated cgroups to an ordinary user is not looked for.
[[nodiscard]] bool host_limits(const std::string& controller);

/// Whether root may make cgroups of v2 here, which commands can be killed by.
[[nodiscard]] bool host_has_cgroup2();

/// Whether v2 is mounted such that a cgroup namespace would stand in the way.
[[nodiscard]] bool host_delegates_by_namespace();

} // namespace berth::local::test
