#pragma once

#include "tools/session_info.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace berth::tools {

/// `machine` is empty where there is none.
[[nodiscard]] std::string session_text(const session::SessionFacts& facts,
                                       const SessionInfo::Machine& machine,
                                       const Settings& settings);

/// schemas/tools/session_info.output.json.
[[nodiscard]] nlohmann::json session_data(const session::SessionFacts& facts,
                                          const SessionInfo::Machine& machine,
                                          const Settings& settings);

} // namespace berth::tools
