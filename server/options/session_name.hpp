#pragma once

#include "server/options/options.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace berth::server {

/// Whether it can be shown to people and written into messages: UTF-8 of at most 256 bytes, which
/// may not move a terminal's cursor.
[[nodiscard]] bool is_showable(std::string_view name);

/// `name` as it is. Throws Error(invalid_argument) that names `what` for one that is
/// not.
[[nodiscard]] std::string require_name(const std::string& name, const std::string& what);

/// The name of the session, empty for an unnamed one, and where it came from. Throws
/// Error(invalid_argument).
[[nodiscard]] std::pair<std::string, std::string>
pick_session(const Given& given, const Environment& environment, const HttpOptions& http);

} // namespace berth::server
