#pragma once

#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"

#include <string>
#include <vector>

namespace berth::session {

/// What the agent is told of commands whose results nobody has seen (JobEntry::unseen), as a server
/// finds them that comes to a machine: a line each, the newest few; of the others their number.
[[nodiscard]] std::vector<std::string> unseen_notices(const protocol::InfoReply& info);

/// The same of a machine that is about to end, with the end of what each printed: no job will have
/// it any more. Nobody counts as told by it. Throws Error where the guest does not answer.
[[nodiscard]] std::vector<std::string> last_notices(sandbox::Sandbox& sandbox);

} // namespace berth::session
