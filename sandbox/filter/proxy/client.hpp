#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/reporter.hpp"
#include "sandbox/filter/rules.hpp"

namespace berth::filter {

/// Serves one connection of the sandbox to its end: HTTP, CONNECT or SOCKS 5, as its first byte
/// says. Every wait in it is bounded.
void serve_client(UniqueFd socket, const Rules& rules, const Reporter& reporter) noexcept;

} // namespace berth::filter
