#pragma once

#include "sandbox/base/error.hpp"

#include <string>

namespace berth::workspace {

/// As errno_error(), for a failure of the directory that holds the workspaces: it is the
/// operator's, so the hint says who can do what about it.
[[nodiscard]] Error store_error(int error, const std::string& what);

/// The same in the middle of a save, of what that has made itself. Nothing of ours removes what a
/// writer holds, nor a folder under the lock; so who is told "no such file" is told that somebody
/// else did, and that it is not the path that was wrong.
[[nodiscard]] Error saving_error(int error, const std::string& what);

} // namespace berth::workspace
