#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// "2026-11-20T13:46:33Z": RFC 3339, UTC, whole seconds.
[[nodiscard]] std::string rfc3339(std::chrono::system_clock::time_point time);

/// The reverse; nothing for what is not exactly of that form.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
parse_rfc3339(std::string_view text);

/// "Sun, 06 Nov 1994 08:49:37 GMT", of a field of HTTP: the one form that servers may send.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
parse_http_date(std::string_view text);

} // namespace berth
