#include "sandbox/base/utf8.hpp"

#include <algorithm>

namespace berth::utf8 {
namespace {

bool is_continuation(char c) noexcept
{
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The second byte has a narrower range after some first bytes (Unicode 15, table 3-7).
bool second_byte_fits(unsigned char first, unsigned char second) noexcept
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second <= 0x9F;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second <= 0x8F;
    default:
        return true;
    }
}

std::string hex(char32_t value, int digits)
{
    std::string text;
    for (int digit = digits - 1; digit >= 0; --digit) {
        text += "0123456789abcdef"[(value >> (4U * static_cast<unsigned>(digit))) & 0xFU];
    }
    return text;
}

} // namespace

std::size_t character_length(std::string_view text) noexcept
{
    if (text.empty()) {
        return 0;
    }
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() < length ||
        !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                     is_continuation) ||
        !second_byte_fits(first, static_cast<unsigned char>(text[1]))) {
        return 0;
    }
    return length;
}

char32_t code_point(std::string_view character) noexcept
{
    const auto first = static_cast<unsigned char>(character[0]);
    // Of the first byte what its length leaves, 5, 4 or 3 bits.
    char32_t point = character.size() == 1 ? first : first & (0xFFU >> (character.size() + 1));
    for (const char next : character.substr(1)) {
        point = (point << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
    }
    return point;
}

bool is_control(std::string_view character) noexcept
{
    const char32_t point = code_point(character);
    return point < 0x20 || (point >= 0x7F && point <= 0x9F);
}

bool is_deceptive(std::string_view character) noexcept
{
    const char32_t point = code_point(character);
    return is_control(character) || point == 0x200E || point == 0x200F ||
           (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0xFEFF;
}

bool has_control(std::string_view text) noexcept
{
    while (!text.empty()) {
        const auto character = text.substr(0, std::max<std::size_t>(character_length(text), 1));
        if (is_control(character)) {
            return true;
        }
        text.remove_prefix(character.size());
    }
    return false;
}

bool is_valid(std::string_view text) noexcept
{
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::size_t count(std::string_view text) noexcept
{
    std::size_t characters = 0;
    while (!text.empty()) {
        text.remove_prefix(std::max<std::size_t>(character_length(text), 1));
        ++characters;
    }
    return characters;
}

std::size_t escaped_count(std::string_view text) noexcept
{
    constexpr std::size_t short_escape = 4; // \x1b
    constexpr std::size_t long_escape = 6;  // \u202e
    std::size_t characters = 0;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const auto character = text.substr(0, std::max<std::size_t>(length, 1));
        const bool plain = character == "\n" || character == "\t";
        characters += length == 0                         ? short_escape
                      : plain || !is_deceptive(character) ? 1
                      : length == 1                       ? short_escape
                                                          : long_escape;
        text.remove_prefix(character.size());
    }
    return characters;
}

std::string escaped(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const auto character = text.substr(0, std::max<std::size_t>(length, 1));
        if (length == 0 || (length == 1 && is_control(character))) {
            result += "\\x" + hex(static_cast<unsigned char>(character[0]), 2);
        } else if (is_deceptive(character)) {
            result += "\\u" + hex(code_point(character), 4);
        } else {
            result += character;
        }
        text.remove_prefix(character.size());
    }
    return result;
}

std::string sanitize(std::string_view text)
{
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) {
            result += "\xEF\xBF\xBD";
            text.remove_prefix(1);
        } else {
            result += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return result;
}

std::string_view prefix_bytes(std::string_view text, std::size_t bytes) noexcept
{
    if (text.size() <= bytes) {
        return text;
    }
    std::size_t end = bytes;
    // At most three steps: a longer run of continuation bytes is not a character anyway.
    for (int i = 0; i < 3 && end > 0 && is_continuation(text[end]); ++i) {
        --end;
    }
    return text.substr(0, is_continuation(text[end]) ? bytes : end);
}

std::string_view suffix_bytes(std::string_view text, std::size_t bytes) noexcept
{
    if (text.size() <= bytes) {
        return text;
    }
    std::size_t start = text.size() - bytes;
    for (int i = 0; i < 3 && start < text.size() && is_continuation(text[start]); ++i) {
        ++start;
    }
    return text.substr(start);
}

} // namespace berth::utf8
