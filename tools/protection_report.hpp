#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <vector>

namespace berth::tools {

/// For a request that may change files; nothing where none is protected.
[[nodiscard]] std::optional<protocol::Protection> protection_of(const Settings& settings);

/// To a result's data, where there are any, and to the notices of its call, one for each kind.
void tell_protected(Context& context, nlohmann::json& data,
                    const std::vector<protocol::ProtectedChange>& changes);

} // namespace berth::tools
