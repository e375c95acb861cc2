#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <array>

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

struct Range {
    char32_t first = 0;
    char32_t last = 0;
};

/// What nobody sees, or what changes how the text around it is laid out: Unicode 15's Cf, Zl and Zp
/// and its other default-ignorable characters, but those that have a form of their own (Arabic
/// number signs), that join or part letters and emoji (U+200C, U+200D), and that choose the form of
/// the character before them (variation selectors of the basic plane). In order.
constexpr std::array<Range, 18> invisible = {{
    {0x00AD, 0x00AD},   // soft hyphen
    {0x034F, 0x034F},   // grapheme joiner
    {0x061C, 0x061C},   // Arabic letter mark
    {0x115F, 0x1160},   // Hangul fillers
    {0x17B4, 0x17B5},   // Khmer vowels without a form
    {0x180E, 0x180E},   // Mongolian vowel separator
    {0x200B, 0x200B},   // zero width space
    {0x200E, 0x200F},   // left-to-right and right-to-left mark
    {0x2028, 0x202E},   // separators of lines and paragraphs, embeddings and overrides
    {0x2060, 0x206F},   // word joiner, invisible operators, isolates
    {0x3164, 0x3164},   // Hangul filler
    {0xFEFF, 0xFEFF},   // byte order mark
    {0xFFA0, 0xFFA0},   // halfwidth Hangul filler
    {0xFFF0, 0xFFFB},   // unassigned, interlinear annotation
    {0x13430, 0x1343F}, // Egyptian hieroglyph format controls
    {0x1BCA0, 0x1BCA3}, // shorthand format controls
    {0x1D173, 0x1D17A}, // musical format controls
    {0xE0000, 0xE0FFF}, // tags, variation selectors of the supplement
}};
static_assert(std::ranges::is_sorted(invisible, {}, &Range::last));

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
    if (is_control(character) || point < invisible.front().first) {
        return is_control(character);
    }
    const auto* const range = std::ranges::lower_bound(invisible, point, {}, &Range::last);
    return range != invisible.end() && point >= range->first;
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
