#pragma once

#include "server/options/layers.hpp"
#include "server/options/options.hpp"

namespace berth::server {

/// Throws Error(invalid_argument).
[[nodiscard]] AuditOptions make_audit_options(const Layers& layers);

} // namespace berth::server
