#include "sandbox/base/percent.hpp"

#include <charconv>
#include <system_error>

namespace berth {

std::optional<std::string> percent_decoded(std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        unsigned byte = 0;
        const auto digits = text.substr(i + 1, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2 || byte == 0) {
            return std::nullopt;
        }
        plain += static_cast<char>(byte);
        i += 2;
    }
    return plain;
}

std::string percent_encoded(std::string_view text, std::string_view plain)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || plain.find(c) != std::string_view::npos;
        if (stays) {
            out += c;
        } else {
            out += '%';
            out += digits[byte >> 4U];
            out += digits[byte & 15U];
        }
    }
    return out;
}

} // namespace berth
