#pragma once

#include "sandbox/base/error.hpp"

#include <string>

namespace berth::workspace {

/// As errno_error(), for a failure of the directory that holds the workspaces: it is the
/// operator's, so the hint says who can do what about it.
[[nodiscard]] Error store_error(int error, const std::string& what);

} // namespace berth::workspace
