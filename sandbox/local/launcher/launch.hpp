#pragma once

#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/seccomp.hpp"

namespace berth::local {

/// `lifetime_fd`: the read end of the lifetime pipe, or -1. Makes the machine, waits until its
/// guest is ready, and answers on the control socket. False when something failed, or the server
/// went away meanwhile: then nothing is left behind. Throws std::system_error when a failure could
/// not be told either.
[[nodiscard]] bool launch(const LaunchSpec& spec, const FilterProgram& filter, int lifetime_fd);

} // namespace berth::local
