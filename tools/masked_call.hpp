#pragma once

#include "tools/tool.hpp"

#include <functional>

namespace berth::tools {

/// Runs `call`, and takes the secrets of the settings out of whatever it says: its result, notices
/// and progress, and its Error if it throws one. A notice tells which were met. Pictures, and what
/// goes to the workspace, stay as they are. `told` and `progress` are those that `call` uses.
[[nodiscard]] Result run_masked(const Settings& settings, Told& told, Progress& progress,
                                const std::function<Result()>& call);

} // namespace berth::tools
