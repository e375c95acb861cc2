#pragma once

#include "sandbox/session/save_on_end.hpp"

namespace berth::server {

/// For session::Settings::choose_folder: in the workspace of the session's principal
/// `/sessions/NAME`; where there are files, which are others', `NAME-2` and so on.
[[nodiscard]] session::ChooseFolder make_folder_chooser();

/// For session::Settings::save: copies what a session that has ended leaves to the workspace of its
/// principal, each file under its path in the home. But for the first time a file of the same path
/// is replaced. All of it becomes visible together, or nothing. Throws Error.
[[nodiscard]] session::SaveFiles make_session_saver();

} // namespace berth::server
