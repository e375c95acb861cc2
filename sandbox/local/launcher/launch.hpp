#pragma once

#include "sandbox/local/launch_spec.hpp"

namespace berth::local {

/// Makes the machine and waits until its guest is ready. What fails is in the result; then, and
/// when the server goes away meanwhile, nothing is left behind.
[[nodiscard]] LaunchResult launch(const LaunchSpec& spec);

} // namespace berth::local
