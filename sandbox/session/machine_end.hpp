#pragma once

#include "sandbox/session/lifecycle.hpp"
#include "sandbox/session/registry.hpp"

#include <chrono>
#include <optional>

namespace berth::session {

/// What became of the machine of a record that is running by the books, and gone: whether
/// somebody was ending it, it ended itself, as nobody used it (`default_ttl`, where the record does
/// not say) or was there any more, or was lost. `parting`: the guest's note, by which it is
/// known; of a release that left none it is guessed by the books. `attended`: somebody was there. A
/// restart of the host takes all machines that are `bound` to one: what the date says then, and
/// whether this one would have ended before, is not asked. Throws std::system_error.
[[nodiscard]] Event gone_event(const Record& record, std::chrono::seconds default_ttl,
                               bool attended,
                               std::optional<protocol::Parting> parting = std::nullopt,
                               bool bound = true);

/// Else a restart of the host took its machine, as it took all others. Throws std::system_error.
[[nodiscard]] bool used_since_boot(const Record& record);

} // namespace berth::session
