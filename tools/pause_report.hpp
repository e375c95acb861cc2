#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

// Whether a session is paused, what will change that, and what keeps it awake. Of a machine that is
// none, and of a guest that knows nothing of pauses, nothing is told.

namespace berth::tools {

/// Calls in flight and jobs, each in a few words.
[[nodiscard]] std::vector<std::string> awake_by(const protocol::InfoReply& info);

/// One line.
[[nodiscard]] std::string pause_text(const protocol::InfoReply& info);

/// `pause` of schemas/tools/session_info.output.json.
[[nodiscard]] nlohmann::json pause_data(const protocol::InfoReply& info);

} // namespace berth::tools
