#pragma once

#include <string>

namespace berth::guest {

/// Whether somebody has removed the session's folder on the host, as by `rm -r`: neither `note`, a
/// descriptor of GuestConfig::parting_fd, nor the home has a name any more. What is made here
/// cannot be kept then, and no server finds this machine: each would make another beside it.
/// False where there is no note.
[[nodiscard]] bool is_abandoned(int note, const std::string& home) noexcept;

} // namespace berth::guest
