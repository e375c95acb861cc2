#pragma once

#include <string_view>
#include <vector>

namespace berth {

/// The parts of a text that are ended or separated by `separator`: what stands behind the last one
/// is a part unless it is empty, so "a,b," is what "a,b" is. Empty parts before it are parts. They
/// point into the text.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

} // namespace berth
