#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

inline constexpr std::string_view small_hex_digits = "0123456789abcdef";
inline constexpr std::string_view large_hex_digits = "0123456789ABCDEF";

/// Two digits for each byte.
[[nodiscard]] inline std::string hex_of(std::string_view bytes,
                                        std::string_view digits = small_hex_digits)
{
    std::string hex;
    hex.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return hex;
}

/// What a digit of either size means; nothing: it is none.
[[nodiscard]] constexpr std::optional<unsigned> hex_value(char digit) noexcept
{
    constexpr unsigned ten = 10;
    if (digit >= '0' && digit <= '9') {
        return static_cast<unsigned>(digit - '0');
    }
    if (digit >= 'a' && digit <= 'f') {
        return static_cast<unsigned>(digit - 'a') + ten;
    }
    if (digit >= 'A' && digit <= 'F') {
        return static_cast<unsigned>(digit - 'A') + ten;
    }
    return std::nullopt;
}

} // namespace berth
