#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace berth::tools {

/// To a result's data: `pids_hit` and `cpu_throttled`, each only where its limit was met.
void add_limit_hits(nlohmann::json& data, const std::optional<protocol::LimitHits>& hits);

/// Of a command that was slow for the limit of processor time; else empty.
[[nodiscard]] std::string throttled_phrase(const std::optional<protocol::LimitHits>& hits);

} // namespace berth::tools
