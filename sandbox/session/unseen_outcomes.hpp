#pragma once

#include "sandbox/protocol/messages.hpp"

#include <string>
#include <vector>

namespace berth::session {

/// What the agent is told of commands whose results nobody has seen (JobEntry::unseen), as a server
/// finds them that comes to a machine: a line each, the newest few; of the others their number.
[[nodiscard]] std::vector<std::string> unseen_notices(const protocol::InfoReply& info);

} // namespace berth::session
