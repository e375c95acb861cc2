#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace berth::tools {

/// "3 could not be read: /a/, /b, …"; empty for none. `paths`: the first few of them.
[[nodiscard]] std::string unreadable_phrase(std::uint64_t count,
                                            const std::vector<std::string>& paths);

/// For the typed result.
[[nodiscard]] nlohmann::json sanitized(const std::vector<std::string>& paths);

} // namespace berth::tools
