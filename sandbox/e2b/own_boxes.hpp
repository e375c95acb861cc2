#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/api_types.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace berth::e2b {

/// For how long it has slept, by E2B's clock and by `here`, this host's, whichever is earlier;
/// nothing: it runs, or does not say.
[[nodiscard]] std::optional<std::chrono::seconds> slept(const BoxInfo& box,
                                                        std::chrono::system_clock::time_point here);

/// Of a list of E2B's those that are `owner`'s, and sleep: what is in use, or in the making, does
/// not. One that does not say all of that of itself is left out; so is any that
/// the list should not have, where a server did not look at what it was asked for.
[[nodiscard]] std::vector<sandbox::FoundMachine>
own_machines(const std::vector<BoxInfo>& boxes, const std::string& owner,
             std::chrono::system_clock::time_point now);

} // namespace berth::e2b
