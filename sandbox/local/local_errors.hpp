#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/local/blockers.hpp"
#include "sandbox/local/covers.hpp"

#include <exception>
#include <system_error>

namespace berth::local {

/// The hint of what nothing more is known of; that command's own reader has no use for it.
inline constexpr const char* ask_doctor = "berth doctor";

// Why no sandbox can be made, with what helps: sandbox_unavailable, or no_space.
[[nodiscard]] Error unavailable(const Blocker& blocker);
[[nodiscard]] Error unavailable(const std::system_error& error);
/// To be tried again.
[[nodiscard]] Error unavailable(const CoversChanged& changed);

/// Not taken for the machine's end: whoever does would replace a living one.
[[nodiscard]] Error cannot_tell(const std::exception& error);

} // namespace berth::local
