#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>

namespace berth::local {

/// Why a launch failed, for a human: what blocks it and the exact line that helps.
struct Blocker {
    std::string reason;
    std::string remedy;
};

/// Looks at what the kernel says below `root` ("" for the real one) to explain a failed result.
/// `session`: whose machine it was to be, by the name that `berth sessions` takes; empty for a
/// probe.
[[nodiscard]] Blocker explain(const LaunchResult& failed, const std::string& root,
                              const std::string& session = {});

} // namespace berth::local
