#pragma once

#include "server/mcp/offers.hpp"
#include "server/mcp/reply.hpp"

#include <string>
#include <vector>

// The results of prompts/list, prompts/get and completion/complete.

namespace berth::mcp {

[[nodiscard]] std::string list_prompts(const std::vector<Prompt>& prompts,
                                       const RequestContext& context, const Identity& identity);

[[nodiscard]] std::string get_prompt(const std::vector<Prompt>& prompts,
                                     const RequestContext& context, const Identity& identity);

/// `resources`: null where there are none.
[[nodiscard]] std::string complete(const std::vector<Prompt>& prompts, Resources* resources,
                                   const RequestContext& context, const Identity& identity);

} // namespace berth::mcp
