#pragma once

#include "sandbox/local/launch_spec.hpp"

#include <string>

namespace berth::local {

/// Starts the launcher, gives it the spec, and waits for its answer. `lifetime_fd`: the read end of
/// the lifetime pipe, or -1. Throws std::system_error when the launcher cannot be started;
/// everything else is in the result.
[[nodiscard]] LaunchResult start_launcher(const std::string& program, const LaunchSpec& spec,
                                          int lifetime_fd);

} // namespace berth::local
