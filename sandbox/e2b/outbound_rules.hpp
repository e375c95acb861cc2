#pragma once

#include "sandbox/backend.hpp"

#include <string_view>

namespace berth::e2b {

/// All addresses of IPv4, as the rest of what is allowed is denied. E2B lets through what nothing
/// denies.
inline constexpr std::string_view everything = "0.0.0.0/0";

/// Throws Error(invalid_argument) for lists that E2B would refuse, as each sandbox is made and from
/// an agent who cannot change them: an entry that is no address, range or (to be allowed) domain;
/// and domains that are allowed beside a list of denials without `0.0.0.0/0`, since E2B knows a
/// domain only by what is asked for.
void require_outbound(const sandbox::Outbound& outbound);

} // namespace berth::e2b
