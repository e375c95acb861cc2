#include "server/mcp/log_level.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace berth::mcp {
namespace {

constexpr std::array<std::string_view, 8> names{"debug", "info",     "notice", "warning",
                                                "error", "critical", "alert",  "emergency"};

} // namespace

std::string_view to_string(LogLevel level) noexcept
{
    return names.at(static_cast<std::size_t>(level));
}

std::optional<LogLevel> log_level(std::string_view name) noexcept
{
    const auto* const found = std::ranges::find(names, name);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<LogLevel>(found - names.begin()));
}

} // namespace berth::mcp
