#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace berth::tools {

/// "312.4 MB of 1 GiB (session.quota, by berth's own count)", or "..., kept by the kernel)"; empty
/// without a limit.
[[nodiscard]] std::string quota_text(const std::optional<protocol::QuotaState>& quota);

/// What an agent should know before a write is refused: from nine tenths on; else empty.
[[nodiscard]] std::string quota_warning(const std::optional<protocol::QuotaState>& quota);

/// Of a command that met a limit which the kernel keeps, by what it printed: what that was; else
/// empty.
[[nodiscard]] std::string quota_met(const std::optional<protocol::QuotaState>& quota,
                                    std::initializer_list<std::string_view> printed);

/// To a result's data, where there is a limit.
void add_quota(nlohmann::json& data, const std::optional<protocol::QuotaState>& quota);

} // namespace berth::tools
