#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/place.hpp"
#include "sandbox/session/registry.hpp"

#include <memory>
#include <optional>
#include <string>

namespace berth::session {

/// The machine of a record, without becoming its client: nothing is made, woken or kept awake. Null
/// where there is none that runs, or it is on another backend. Throws Error where neither can be
/// told.
[[nodiscard]] std::unique_ptr<sandbox::Sandbox> reach_machine(sandbox::Backend& backend,
                                                              const Record& record);

/// Pauses the machine of the key, or wakes it; nothing where it has none that runs. `own`: as
/// Settings::place. Throw Error as Sandbox::pause(), and require_host().
[[nodiscard]] std::optional<protocol::PauseReply> pause_machine(sandbox::Backend& backend,
                                                                Registry& registry,
                                                                const std::optional<Place>& own,
                                                                const std::string& key);
[[nodiscard]] std::optional<protocol::ResumeReply> resume_machine(sandbox::Backend& backend,
                                                                  Registry& registry,
                                                                  const std::optional<Place>& own,
                                                                  const std::string& key);

} // namespace berth::session
