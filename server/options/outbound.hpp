#pragma once

#include "sandbox/backend.hpp"

#include <string>

namespace berth::server {

/// Throws Error(invalid_argument) for lists that E2B would refuse, as each sandbox is made and from
/// an agent who cannot change them: an entry that is no address, range or (to be allowed) domain;
/// and domains that are allowed beside a list of denials without `0.0.0.0/0`, since E2B knows a
/// domain only by what is asked for. `origin`: where they were set, for the message.
void require_outbound(const sandbox::Outbound& outbound, const std::string& origin);

} // namespace berth::server
