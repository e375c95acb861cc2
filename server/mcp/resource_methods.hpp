#pragma once

#include "server/mcp/offers.hpp"
#include "server/mcp/reply.hpp"

#include <string>

// The results of resources/list, resources/templates/list and resources/read.

namespace berth::mcp {

[[nodiscard]] std::string list_resources(Resources& resources, const RequestContext& context,
                                         const Identity& identity);

[[nodiscard]] std::string list_templates(Resources& resources, const RequestContext& context,
                                         const Identity& identity);

[[nodiscard]] std::string read_resource(Resources& resources, const RequestContext& context,
                                        const Identity& identity);

} // namespace berth::mcp
