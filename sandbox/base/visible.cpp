#include "sandbox/base/visible.hpp"

#include "sandbox/base/utf8.hpp"

#include <array>
#include <cstdio>

namespace berth {
namespace {

/// How a character is written: as it is, or with its number behind \x, \u or \U.
struct Form {
    char letter = '\0'; ///< '\0': as it is
    int digits = 0;
};

/// The character, or the byte that belongs to none, at the beginning of a text.
struct First {
    std::string_view bytes;
    Form form;
    char32_t number = 0;
};

First first_of(std::string_view text) noexcept
{
    constexpr char32_t last_of_four_digits = 0xFFFF;
    const std::size_t length = utf8::character_length(text);
    if (length == 0) {
        return {text.substr(0, 1), {'x', 2}, static_cast<unsigned char>(text[0])};
    }
    const auto bytes = text.substr(0, length);
    const char32_t number = utf8::code_point(bytes);
    if (!utf8::is_deceptive(bytes)) {
        return {bytes, {}, number};
    }
    return {bytes,
            length == 1                     ? Form{'x', 2}
            : number <= last_of_four_digits ? Form{'u', 4}
                                            : Form{'U', 8},
            number};
}

} // namespace

std::string visible(std::string_view text)
{
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const auto [bytes, form, number] = first_of(text);
        if (form.letter == '\0') {
            result += bytes;
        } else {
            std::array<char, 16> escape{};
            std::snprintf(escape.data(), escape.size(), "\\%c%0*x", form.letter, form.digits,
                          static_cast<unsigned>(number));
            result += escape.data();
        }
        text.remove_prefix(bytes.size());
    }
    return result;
}

std::string visible_beginning(std::string_view text, std::size_t bytes, std::string_view cut)
{
    const auto beginning = utf8::prefix_bytes(text, bytes);
    auto result = visible(beginning);
    if (beginning.size() < text.size()) {
        result += cut;
    }
    return result;
}

std::size_t escaped_count(std::string_view text) noexcept
{
    std::size_t characters = 0;
    while (!text.empty()) {
        const auto [bytes, form, number] = first_of(text);
        const bool plain = form.letter == '\0' || bytes == "\n" || bytes == "\t";
        characters += plain ? 1 : 2 + static_cast<std::size_t>(form.digits);
        text.remove_prefix(bytes.size());
    }
    return characters;
}

} // namespace berth
