#pragma once

#include <optional>
#include <string_view>

namespace berth::mcp {

/// Those of RFC 5424, the least first: a client takes its own and all above.
enum class LogLevel : unsigned char {
    debug,
    info,
    notice,
    warning,
    error,
    critical,
    alert,
    emergency
};

[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;

/// Nothing: there is none of that name.
[[nodiscard]] std::optional<LogLevel> log_level(std::string_view name) noexcept;

} // namespace berth::mcp
