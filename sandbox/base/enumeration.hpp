#pragma once

#include <string>
#include <vector>

namespace berth {

/// "tabs", "tabs and quotes", "tabs, quotes and line ends".
[[nodiscard]] std::string enumerated(const std::vector<std::string>& words);

} // namespace berth
