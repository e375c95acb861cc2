#pragma once

#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/box_home.hpp"
#include "sandbox/e2b/link.hpp"

#include <chrono>
#include <memory>

namespace berth::e2b {

/// With its files, and without what ran in it: of one that sleeps that has stopped already, and the
/// next guest ends it before anything else. `may`: see ApiClient; throws as that, and
/// Error(conflict) of one that is no longer ours.
void put_to_rest(const std::shared_ptr<Link>& link, const BoxHome& home, const BoxInfo& box,
                 std::chrono::seconds time, const ApiClient::Right& may);

} // namespace berth::e2b
