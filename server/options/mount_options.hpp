#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/key.hpp"
#include "server/options/options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace berth::server {

/// What `mount` and `default_workspace` say.
struct MountOptions {
    std::vector<sandbox::Mount> mounts;
    std::function<void()> make_workspace; ///< session::Settings::make_workspace
};

/// Of the session `id`. Throws Error(invalid_argument).
[[nodiscard]] MountOptions make_mounts(const Layers& layers, const Given& given,
                                       const session::SessionId& id,
                                       const std::string& state_directory);

} // namespace berth::server
