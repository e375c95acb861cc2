#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/api_client.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace berth::e2b {

/// Has a sandbox that runs reach that from now on. A server of E2B's that cannot change it has none
/// that is kept from anything after it was made with all. Throws as ApiClient::set_network().
void change_network(ApiClient& api, const std::string& id, const BoxNetwork& network,
                    std::chrono::seconds time);

/// Addresses of the internet that always answer, and from which a sandbox that may reach no more
/// than `network` must have no answer: what asks there from within learns whether that is kept.
/// Empty: everything may be reached, or all that could be asked.
[[nodiscard]] std::vector<std::string> forbidden_places(const BoxNetwork& network);

/// `said`: by the guest's program, of the place that answered.
[[nodiscard]] Error not_kept(const std::string& said);

} // namespace berth::e2b
