#pragma once

#include "sandbox/backend.hpp"

namespace berth::e2b {

/// The rules of a filtered network in the words of E2B's firewall, which has no proxy of berth's
/// before it: what it then reaches is no more than the rules say, but for what docs/backends.md
/// names. Throws Error(invalid_argument) for what that firewall cannot keep: as of E2B's own source
/// (orchestrator, tcpfirewall) it knows names on the ports 80 and 443 alone and on both, addresses
/// of IPv4 with all ports alone, none of a private network, and lets through what is allowed,
/// though it be denied.
[[nodiscard]] sandbox::Outbound outbound_of(const sandbox::Filter& filter);

} // namespace berth::e2b
