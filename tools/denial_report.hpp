#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace berth::tools {

/// What a result says of what its network denied.
[[nodiscard]] nlohmann::json denials_data(const std::vector<protocol::Denial>& denials);

/// The same for a model, a line each, so that it does not take a rule for a broken network; empty
/// where there are none. `denials`: of denials_data().
[[nodiscard]] std::string denials_text(const nlohmann::json& denials);

} // namespace berth::tools
