#pragma once

#include "sandbox/local/blocker.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>

namespace berth::local {

/// What of the place that berth was started in explains a failed launch: its /proc, its /dev, its
/// capabilities as root, its scheduling. Empty when it is none of these. `root` is put before each
/// path, for tests.
[[nodiscard]] Blocker place_blocker(const LaunchResult& failed, const std::string& root);

} // namespace berth::local
