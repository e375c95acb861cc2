#pragma once

#include "tools/session_info.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace berth::tools {

/// `machine` is empty where there is none. `settings`: of the server that the session's calls come
/// to, for what of the limits is not the machine's; none where nobody knows which that will be.
[[nodiscard]] std::string session_text(const session::SessionFacts& facts,
                                       const SessionInfo::Machine& machine,
                                       const Settings* settings);

/// schemas/tools/session_info.output.json; without `settings` what is not known is not there.
[[nodiscard]] nlohmann::json session_data(const session::SessionFacts& facts,
                                          const SessionInfo::Machine& machine,
                                          const Settings* settings);

} // namespace berth::tools
