#include "sandbox/e2b/query.hpp"

namespace berth::e2b {
namespace {

/// `plain`: what stays as it is beside letters and digits.
std::string encoded(std::string_view text, std::string_view plain)
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

/// What encodeURIComponent of JavaScript leaves, and the official clients with it.
constexpr std::string_view component = "-_.!~*'()";
/// What the form encoding leaves.
constexpr std::string_view form = "*-._";

} // namespace

std::string percent_encoded(std::string_view text)
{
    return encoded(text, "-._~");
}

std::string metadata_query(const Metadata& metadata)
{
    std::string pairs;
    for (const auto& [key, value] : metadata) {
        pairs += (pairs.empty() ? "" : "&") + encoded(encoded(key, component), form) + '=' +
                 encoded(encoded(value, component), form);
    }
    return percent_encoded(pairs);
}

} // namespace berth::e2b
