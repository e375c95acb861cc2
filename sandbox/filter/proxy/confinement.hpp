#pragma once

#include <cstdint>

namespace berth::filter {

/// What this process is from here on: of root's the user `user` without groups; without new
/// privileges, not to be traced, without a core, and with no way to start a program. While it has
/// one thread. Throws std::system_error.
void confine_proxy(std::uint32_t user);

} // namespace berth::filter
