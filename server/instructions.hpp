#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/session_facts.hpp"
#include "server/mcp/catalog.hpp"
#include "server/options/options.hpp"

#include <string>

namespace berth::server {

/// Empty when the sandbox can be had; else why not and what would help, in one line.
[[nodiscard]] std::string disabled_reason(const sandbox::Availability& availability);

/// What the model is told of the machine before its first call: true to the backend in force, and
/// to the machine of `facts`, which may have been made with other settings; under 4096 characters.
[[nodiscard]] std::string make_instructions(const Options& options,
                                            const session::SessionFacts& facts,
                                            sandbox::Backend& backend,
                                            const sandbox::Availability& availability,
                                            const mcp::Catalog& catalog);

/// A tool's description. Where its sandbox cannot be made: DISABLED, why, and the first paragraph.
[[nodiscard]] std::string make_description(const tools::Entry& tool,
                                           const tools::Settings& settings,
                                           sandbox::Backend& backend,
                                           const sandbox::Availability& availability);

} // namespace berth::server
