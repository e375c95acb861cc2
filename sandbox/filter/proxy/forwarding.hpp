#pragma once

#include "sandbox/filter/proxy/client.hpp"
#include "sandbox/filter/proxy/hearing.hpp"
#include "sandbox/filter/request.hpp"

namespace berth::filter {

/// What is told of a request that is not taken: to the guest, and to its client.
void refuse(const Hearing& client, const Service& service, const BadRequest& bad);
void refuse(const Hearing& client, const Service& service, protocol::Denial denial);

/// Secrets are put into a request and it goes to its server, with as much of a body as it says;
/// the answer goes back, to its end. Throws BadRequest.
void forward(Request request, Hearing& client, Stream& server, bool is_tls, const Service& service);

} // namespace berth::filter
