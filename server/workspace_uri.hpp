#pragma once

#include <optional>
#include <string>
#include <string_view>

// Files of the workspace as URIs: workspace:///reports/a.txt is its file /reports/a.txt.

namespace berth::server {

/// `path` as the store has it.
[[nodiscard]] std::string workspace_uri(std::string_view path);

/// The path in a URI of the workspace, not normalised; the slash before it may be missing. Nothing:
/// it is another URI. Throws Error(invalid_argument) for one that is malformed.
[[nodiscard]] std::optional<std::string> workspace_path(std::string_view uri);

/// By the end of its name; empty: not known.
[[nodiscard]] std::string_view mime_type_of(std::string_view path);

} // namespace berth::server
