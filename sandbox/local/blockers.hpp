#pragma once

#include "sandbox/local/blocker.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>

namespace berth::local {

/// Looks at what the kernel says below `root` ("" for the real one) to explain a failed result.
/// `session`: whose machine it was to be, by the name that `berth sessions` takes; empty for a
/// probe.
[[nodiscard]] Blocker explain(const LaunchResult& failed, const std::string& root,
                              const std::string& session = {});

} // namespace berth::local
