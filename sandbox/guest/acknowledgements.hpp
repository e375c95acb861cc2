#pragma once

#include "sandbox/guest/call.hpp"
#include "sandbox/guest/commands.hpp"

#include <memory>
#include <string>

namespace berth::guest {

// What counts as told once whoever asked says that its answer was read. On the loop's thread,
// before the answer; `commands` outlives the call.

/// Claims what nobody was told of. Whether that is to be acknowledged (`acknowledges`: whoever asks
/// does): with its connection's end it comes back.
[[nodiscard]] bool claim_unseen(const std::shared_ptr<Call>& call, Commands& commands,
                                bool acknowledges);

/// The same of an answer that shows how all have ended. Nobody else is kept from telling it
/// meanwhile.
[[nodiscard]] bool show_ends(const std::shared_ptr<Call>& call, Commands& commands);

/// The end of the job, which the answer tells, counts as read once the answer was.
void end_read_with(const std::weak_ptr<Call>& weak, Commands& commands, const std::string& job_id);

} // namespace berth::guest
