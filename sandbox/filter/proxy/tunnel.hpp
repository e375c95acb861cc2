#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/client.hpp"
#include "sandbox/filter/proxy/hearing.hpp"

namespace berth::filter {

/// Serves what a client sends to a target that it was connected to, to its end: mostly as it is,
/// once it is known where it goes. To the place of a secret goes one request of HTTP, which is read
/// for it; TLS to such a place is opened.
void serve_tunnel(Hearing& client, const UniqueFd& server, const Target& target,
                  const Service& service);

} // namespace berth::filter
