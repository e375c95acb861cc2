#include "sandbox/base/base64.hpp"

#include <array>
#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xff;

constexpr std::array<std::uint8_t, 256> make_digits()
{
    std::array<std::uint8_t, 256> digits{};
    for (auto& digit : digits) {
        digit = no_digit;
    }
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        digits[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return digits;
}

constexpr auto digits = make_digits();

} // namespace

std::string base64_encode(std::string_view bytes)
{
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto group = bytes.substr(at, 3);
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            bits = (bits << 8U) | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            text += i <= group.size() ? alphabet[(bits >> (18 - (6 * i))) & 0x3fU] : '=';
        }
    }
    return text;
}

std::optional<std::string> base64_decode(std::string_view text)
{
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    std::size_t count = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (c == '\n' || c == '\r') {
            continue;
        }
        const auto digit = digits[static_cast<unsigned char>(c)];
        if (c == '=') {
            ++padding;
        } else if (digit == no_digit || padding > 0) {
            return std::nullopt;
        }
        bits = (bits << 6U) | (c == '=' ? 0U : digit);
        if (++count % 4 == 0) {
            for (std::size_t i = 0; i + padding < 3; ++i) {
                bytes += static_cast<char>((bits >> (16 - (8 * i))) & 0xffU);
            }
            // bits behind the last byte must be zero, else two texts would mean the same bytes
            if (padding > 2 || (bits & ((1U << (8 * padding)) - 1)) != 0) {
                return std::nullopt;
            }
            bits = 0;
        }
    }
    return count % 4 == 0 && padding <= 2 ? std::optional(bytes) : std::nullopt;
}

} // namespace berth
