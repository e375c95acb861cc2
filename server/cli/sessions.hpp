#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/cli/outcome.hpp"
#include "server/cli/reports.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::server::cli {

// The commands that are about sessions and make none. Those that give an Outcome fail where there
// is no such session, or it has no machine to pause, and throw what the guest refuses.

/// Which session the operator asks for. `name` is what was given, of which the operator's template
/// made `id`: or, for a session that this does not lead to, its key or sandbox as list_sessions()
/// shows them.
struct Asked {
    session::SessionId id;
    std::string name;
    /// No key and no id of a sandbox stands for it: callers choose names, and one of a caller's may
    /// be another's key.
    bool by_name_only = false;
    /// Remedies are requests of the operator's API, and not flags of the command line.
    bool over_http = false;
};

/// The key of the session that is meant, by the books.
[[nodiscard]] std::optional<std::string> find_key(session::SessionManager& sessions,
                                                  const Asked& asked);

/// nothing_done(), of a session that is not found; `unsettled`: as collect_leftovers() has told.
/// Where it is known that there is none, `reason` and `remedy`.
[[nodiscard]] Outcome not_found(const Asked& asked, const Unsettled& unsettled,
                                const std::string& reason, const std::string& remedy);

/// That there is no such session, by the name, key or id that was given.
[[nodiscard]] std::string missing_sentence(const Asked& asked);

[[nodiscard]] Outcome nothing_done(const Asked& asked, ErrorCode code, const std::string& reason,
                                   const std::string& remedy);

/// Of limits, network and mounts what the books know, and not what this program was told: it makes
/// no machine.
[[nodiscard]] Outcome show_session(session::SessionManager& sessions, const Asked& asked);
[[nodiscard]] Outcome pause_session(session::SessionManager& sessions, const Asked& asked);
[[nodiscard]] Outcome resume_session(session::SessionManager& sessions, const Asked& asked);

/// Clears up after what is dead, ten minutes at most, and removes the homes that have been kept for
/// long enough: for their retention, or where `homes_older_than` is given, for that ("3d"). 1 where
/// the time did not suffice, or something could not be removed; not where others were just making
/// or ending a session, which are named. Throws Error(invalid_argument).
[[nodiscard]] int collect_sessions(session::SessionManager& sessions,
                                   const std::optional<std::string>& homes_older_than, bool json);

} // namespace berth::server::cli
