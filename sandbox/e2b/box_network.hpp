#pragma once

#include "sandbox/e2b/api_client.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace berth::e2b {

/// The same for what is the same, in few letters.
[[nodiscard]] std::string network_mark(const BoxNetwork& network);

/// Has a sandbox that runs reach that from now on. Older servers cannot change it: there one that
/// was made to reach the same (by its metadata) has it, and whoever asks for everything takes what
/// is there. Throws as ApiClient::set_network(), and Error(backend_error) where such a server has
/// one that was made for something else, or does not say for what.
void change_network(ApiClient& api, const BoxInfo& box, const BoxNetwork& network,
                    std::chrono::seconds time, const ApiClient::Right& may = {});

/// Addresses of the internet that always answer, and from which a sandbox that may reach no more
/// than `network` must have no answer: what asks there from within learns whether that is kept.
/// Empty: everything may be reached, or all that could be asked.
[[nodiscard]] std::vector<std::string> forbidden_places(const BoxNetwork& network);

} // namespace berth::e2b
