#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace berth::tools {

/// "312.4 MB of 1 GiB (session.quota, by berth's own count)"; empty without a limit.
[[nodiscard]] std::string quota_text(const std::optional<protocol::QuotaState>& quota);

/// What an agent should know before a write is refused: from nine tenths on; else empty.
[[nodiscard]] std::string quota_warning(const std::optional<protocol::QuotaState>& quota);

/// To a result's data, where there is a limit.
void add_quota(nlohmann::json& data, const std::optional<protocol::QuotaState>& quota);

} // namespace berth::tools
