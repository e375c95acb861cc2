#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/options/options.hpp"

#include <string>

namespace berth::server::cli {

// The commands that are about one session and neither make nor end one. Each prints for people, or
// with `json` for programs, and returns the exit status: 1 where there is no such session, or it
// has no machine to pause. They throw what the guest refuses.

/// Which session the operator asks for; `id` and `name` as for kill_session().
struct Asked {
    session::SessionId id;
    std::string name;
    bool json = false;
};

[[nodiscard]] int show_session(session::SessionManager& sessions, const Asked& asked,
                               const Options& options);
[[nodiscard]] int pause_session(session::SessionManager& sessions, const Asked& asked);
[[nodiscard]] int resume_session(session::SessionManager& sessions, const Asked& asked);

} // namespace berth::server::cli
