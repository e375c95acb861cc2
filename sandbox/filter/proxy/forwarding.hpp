#pragma once

#include "sandbox/filter/proxy/client.hpp"
#include "sandbox/filter/proxy/hearing.hpp"
#include "sandbox/filter/request.hpp"

namespace berth::filter {

[[nodiscard]] protocol::Denial denial_of(const BadRequest& bad);

/// What is told of a request that is not taken: to the guest, and to its client.
void refuse(const Hearing& client, const Service& service, const BadRequest& bad);
void refuse(const Hearing& client, const Service& service, protocol::Denial denial);

/// Secrets are put into a request and it goes to its server, with its body and nothing behind it;
/// the answer goes back, to its end. Throws BadRequest.
void forward(Request request, Hearing& client, Stream& server, bool is_tls, const Service& service);

} // namespace berth::filter
