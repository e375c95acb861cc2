#pragma once

#include "sandbox/backend.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace berth::session {

/// What the operator decided for the sessions of this server.
struct Settings {
    std::string state_directory; ///< absolute; made 0700 when missing
    std::vector<sandbox::Mount> mounts;
    sandbox::Network network = sandbox::Network::none;
    sandbox::Limits limits;
    std::string path_policy;
    std::chrono::seconds ttl{12 * 3600};
    /// How long acquire() waits for another call or server that is making the machine.
    std::chrono::milliseconds lock_wait{30'000};
};

/// Of everything in the settings that a machine keeps for its life.
[[nodiscard]] std::string fingerprint(const Settings& settings);

} // namespace berth::session
