#pragma once

#include "sandbox/protocol/guest_config.hpp"

namespace berth::guest {

/// Turns this process, which has one thread, into the guest that `config` describes, and ends with
/// it. Every descriptor above 2 that the config does not name is closed.
[[noreturn]] void run(protocol::GuestConfig config) noexcept;

} // namespace berth::guest
