#pragma once

#include "server/transport/http_head.hpp"

#include <string>

namespace berth::server::http {

/// Of the caller's own trace (W3C Trace Context), as its header has it; empty: there is none, or
/// none that is clear.
[[nodiscard]] std::string traceparent_of(const transport::HttpHead& head);

} // namespace berth::server::http
