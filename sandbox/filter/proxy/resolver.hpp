#pragma once

#include "sandbox/filter/rules.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <netdb.h>

namespace berth::filter {

struct FreeAddresses {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

/// What the host knows of a name; an address is found without a look into the DNS.
struct Resolved {
    std::unique_ptr<addrinfo, FreeAddresses> addresses;
    /// What a name without a dot stands for here, where that is another name: the one that was
    /// found of it, and the one that the host has for that.
    std::vector<std::string> full_names;
    std::string reason; ///< without addresses: why
};

/// Looks a name up by the host's resolver as it is, which puts none of the host's search domains
/// behind it. `searches`: of a name without a dot these come after that. Takes as long as the host
/// has it take.
[[nodiscard]] Resolved resolve(const Target& target, bool searches);

} // namespace berth::filter
