#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/host.hpp"

namespace berth::local {

/// See Backend::can_make(): its template and its mounts are looked at, and what of the session's
/// home is in their way.
[[nodiscard]] sandbox::Availability feasible(const Host& host, const sandbox::MachineSpec& spec,
                                             bool privileged);

} // namespace berth::local
