#pragma once

#include "server/mcp/catalog.hpp"
#include "server/mcp/offers.hpp"
#include "tools/dialect.hpp"

#include <functional>
#include <string>

namespace berth::server {

/// The prompt sandbox-guide: the instructions, for clients that do not show them to the model, and
/// how to work with the tools that are served. `has_files`: there is a workspace, and its files are
/// resources.
[[nodiscard]] mcp::Prompt make_guide_prompt(std::function<std::string()> instructions,
                                            const mcp::Catalog& catalog,
                                            const tools::Dialect* dialect, bool has_files);

} // namespace berth::server
