#pragma once

#include "sandbox/protocol/messages.hpp"
#include "server/options/layers.hpp"

namespace berth::server {

/// Throws Error(invalid_argument) for a path that is none of a file in a folder.
[[nodiscard]] protocol::Protection make_protection(const Layers& layers);

} // namespace berth::server
