#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/cli/outcome.hpp"
#include "server/options/options.hpp"

namespace berth::server::cli {

/// Whether sandboxes work here and what runs, from the books of the state directory and from
/// the guests of its machines; makes none. Fails when no sandbox can be made.
[[nodiscard]] Outcome show_status(session::SessionManager& sessions, const Options& options);

} // namespace berth::server::cli
