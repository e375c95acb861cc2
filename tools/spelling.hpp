#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

/// The word that `word` was probably meant to be; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& words);

} // namespace berth::tools
