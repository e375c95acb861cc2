#pragma once

#include "sandbox/backend.hpp"
#include "server/options/options.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace berth::mcp {
struct Configuration;
} // namespace berth::mcp

namespace berth::server {

using sandbox::Check;

/// What a program adds to the server: its kind of machine.
struct Composition {
    std::function<std::shared_ptr<sandbox::Backend>(const Options&)> make_backend;
    /// Throws Error(invalid_argument) for settings with which no machine can be made. Not asked by
    /// what only looks or cleans up.
    std::function<void(const Options&)> check = [](const Options&) {};
    /// On a sandbox such as these options would have made.
    std::function<std::vector<Check>(const Options&, sandbox::Backend&)> examine;
    /// The names of those checks; what else is required is a mistake.
    std::function<std::vector<std::string>(const Options&)> layers = [](const Options&) {
        return std::vector<std::string>();
    };
    /// Of each session: puts other tools, resources and prompts in place of berth's own. Empty: it
    /// is berth.
    std::function<void(mcp::Configuration&)> extend{};
};

/// The whole program. Returns the exit status: 0, 1 for what failed, 2 for a wrong command line or
/// setting.
int run(int argc, const char* const* argv, const Composition& composition);

} // namespace berth::server
