#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/filter/address.hpp"

#include <string_view>

namespace berth::e2b {

/// All addresses of IPv4, as the rest of what is allowed is denied. E2B lets through what nothing
/// denies.
inline constexpr std::string_view everything = "0.0.0.0/0";

/// Every name, of what is allowed.
inline constexpr std::string_view any_name = "*";

/// Whether E2B takes a range that is written so: of those that begin at no address (0.0.0.0, ::) it
/// takes all of IPv4 alone.
[[nodiscard]] bool takes(const filter::Range& range);

/// Throws Error(invalid_argument) for lists that E2B would refuse, as each sandbox is made and from
/// an agent who cannot change them: an entry that is no address, range or (to be allowed) domain,
/// or that E2B does not take; and domains that are allowed beside a list of denials without
/// `0.0.0.0/0`, since E2B knows a domain only by what is asked for.
void require_outbound(const sandbox::Outbound& outbound);

} // namespace berth::e2b
