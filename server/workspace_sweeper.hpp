#pragma once

#include "sandbox/session/save_on_end.hpp"

#include <string>

namespace berth::server {

/// For session::Settings::sweep_saves: of the workspace in that directory.
[[nodiscard]] session::SweepSaves make_workspace_sweeper(std::string workspace);

} // namespace berth::server
