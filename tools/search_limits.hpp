#pragma once

#include <cstdint>
#include <optional>

namespace berth::tools {

/// A limit as the guest takes it: `wanted`, where 0 is "no limit", else `standard`. Without a limit
/// the text of a result still bounds what is listed, at one character and a newline each.
[[nodiscard]] inline std::uint64_t list_limit(std::optional<std::int64_t> wanted,
                                              std::uint64_t standard, std::uint64_t budget)
{
    if (!wanted) {
        return standard;
    }
    return *wanted == 0 ? budget : static_cast<std::uint64_t>(*wanted);
}

} // namespace berth::tools
