#pragma once

#include <cstddef>
#include <string_view>

namespace berth {

inline constexpr std::size_t npos = std::string_view::npos;

} // namespace berth
