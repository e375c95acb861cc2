#pragma once

#include "server/mcp/request_context.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace berth::mcp {

/// The small drawings that clients may show beside a name (a member `icons`, since 2025-11-25):
/// one of each tool of all_tools() by its name there, and "berth", "guide", "session",
/// "workspace". An array of one icon; of none for any other name.
///
/// A drawing is an SVG in a data: URI of less than 400 bytes: a server that reaches no network has
/// no place from which a client could fetch one, and no host is told who looks at its tools.
[[nodiscard]] nlohmann::json icons_of(std::string_view drawing);

/// Gives `object` the member, where there is such a drawing and the client knows of icons.
void put_icons(nlohmann::json& object, std::string_view drawing, const RequestContext& context);

} // namespace berth::mcp
