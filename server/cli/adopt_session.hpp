#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/cli/sessions.hpp"

namespace berth::server::cli {

/// Gives the home of a session, or one that no book knows, to another session, which the operator
/// names by the usual settings. Fails where there is none. Throws Error(invalid_argument) where
/// `to` has no name, and as SessionManager::adopt().
[[nodiscard]] Outcome adopt_session(session::SessionManager& sessions, const Asked& asked,
                                    const session::Adoption& adoption);

} // namespace berth::server::cli
