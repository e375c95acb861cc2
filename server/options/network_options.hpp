#pragma once

#include "server/options/layers.hpp"
#include "server/options/options.hpp"

#include <set>
#include <string>

namespace berth::server {

/// What sandboxes reach.
struct NetworkOptions {
    sandbox::Network network = sandbox::Network::none;
    sandbox::Outbound outbound;
    sandbox::Filter filter;
};

/// Names of the secrets that the proxy alone puts in.
[[nodiscard]] std::set<std::string> withheld_secrets(const sandbox::Filter& filter);

/// Throws Error(invalid_argument) where a rule is none, is kept by nobody here, or where only the
/// name of a profile asks for the host's network.
[[nodiscard]] NetworkOptions pick_network(const Layers& layers, const Given& given);

} // namespace berth::server
