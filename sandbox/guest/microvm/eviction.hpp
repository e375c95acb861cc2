#pragma once

#include <string>

namespace berth::guest {

/// As root of a microVM: ends the guest that was started for `folder` (resident.hpp), and all that
/// it and those before it run for their sessions; one that died leaves its commands running. What
/// else runs in the machine, its template's services too, is left alone, as are the connectors,
/// which end by themselves. Throws Error(backend_error) where something does not end.
void evict_guests(const std::string& folder);

} // namespace berth::guest
