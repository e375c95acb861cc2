#pragma once

#include "server/options/options.hpp"

#include <string>
#include <utility>

namespace berth::server {

/// `name` as it is. Throws Error(invalid_argument) that names `what` for one that cannot be shown
/// to people and written into messages: it may not move a terminal's cursor.
[[nodiscard]] std::string require_name(const std::string& name, const std::string& what);

/// The name of the session, empty for an unnamed one, and where it came from. Throws
/// Error(invalid_argument).
[[nodiscard]] std::pair<std::string, std::string>
pick_session(const Given& given, const Environment& environment, const HttpOptions& http);

} // namespace berth::server
