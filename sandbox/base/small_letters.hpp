#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace berth {

/// Of ASCII letters alone, whatever the locale: as names in HTTP are compared.
[[nodiscard]] inline std::string in_small_letters(std::string_view text)
{
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return small;
}

} // namespace berth
