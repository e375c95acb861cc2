#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/options/options.hpp"

namespace berth::server::cli {

/// Whether sandboxes work here and what runs, for people or with `json` for programs: from the
/// books of the state directory and from the guests of its machines; makes none. Returns the exit
/// status: 1 when no sandbox can be made.
[[nodiscard]] int show_status(session::SessionManager& sessions, const Options& options, bool json);

} // namespace berth::server::cli
