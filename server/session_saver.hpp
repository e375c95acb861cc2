#pragma once

#include "sandbox/session/save_on_end.hpp"

namespace berth::server {

/// For session::Settings::save: copies what a session that has ended leaves to the workspace of its
/// principal, into the folder `/sessions/NAME`, each file under its path in the home. That folder
/// is this session's alone: where there are other files at its first time, it is `NAME-2` and so
/// on; at the next end it is the same one, and a file of the same path is replaced. All of it
/// becomes visible together, or nothing. Throws Error.
[[nodiscard]] session::SaveFiles make_session_saver();

} // namespace berth::server
