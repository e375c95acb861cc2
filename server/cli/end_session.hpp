#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/cli/sessions.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace berth::server::cli {

/// Ends the session, with `purge` its home too; what comes of its files (session.save_on_end) is
/// told. Fails where there was nothing to end, the files could not be saved, or the books could not
/// be told: then the home stays, and a purge is not done.
[[nodiscard]] Outcome kill_session(session::SessionManager& sessions, const Asked& asked,
                                   bool purge, session::AtEnd files);

/// "3 files (2 KB) are in the workspace at /sessions/work".
[[nodiscard]] std::string saved_sentence(const session::SavedFiles& saved);

/// Why more is to be done of a session that has ended; empty: all is done.
[[nodiscard]] std::string unfinished_sentence(const session::Ended& ended);

/// For programs.
[[nodiscard]] nlohmann::json saved_json(const session::SavedFiles& saved);

} // namespace berth::server::cli
