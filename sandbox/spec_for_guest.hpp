#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/protocol/guest_config.hpp"

namespace berth::sandbox {

/// What a guest is told of its machine wherever that is. The paths in it, what its commands have
/// and how it is reached are its backend's to add.
[[nodiscard]] protocol::GuestConfig config_for_guest(const MachineSpec& spec);

} // namespace berth::sandbox
