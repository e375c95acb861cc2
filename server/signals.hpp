#pragma once

#include "sandbox/base/unique_fd.hpp"

namespace berth::server {

/// Signals that end a server (SIGINT, SIGTERM, SIGHUP) arrive on this descriptor, as
/// signalfd_siginfo; those that would end or stop it by accident are ignored. Before any thread
/// starts, so that all of them inherit the mask. Throws std::system_error.
[[nodiscard]] UniqueFd take_signals();

} // namespace berth::server
