#include "tools/secret_forms.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/hex.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::tools {
namespace {

std::string without_line_ends(std::string text)
{
    std::erase_if(text, [](char character) { return character == '\n' || character == '\r'; });
    return text;
}

/// What base64 has of `value` behind `before` other bytes, whatever they and those behind it are.
std::string base64_inside(const std::string& value, std::size_t before)
{
    constexpr std::array<std::size_t, 3> shared{0, 2, 3}; // characters with bits of what is before
    constexpr std::size_t bits_of_byte = 8;
    constexpr std::size_t bits_of_character = 6;
    const auto whole = (before + value.size()) * bits_of_byte / bits_of_character;
    return base64_encode(std::string(before, '\0') + value)
        .substr(0, whole)
        .substr(shared.at(before));
}

std::string other_alphabet(std::string text)
{
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

void add(std::vector<SecretForm>& forms, std::string text, bool may_be_encoded = false)
{
    const bool known =
        std::ranges::any_of(forms, [&](const SecretForm& form) { return form.text == text; });
    if (!known && text.size() >= shortest_secret) {
        forms.push_back({std::move(text), may_be_encoded});
    }
}

} // namespace

std::vector<SecretForm> secret_forms(const std::string& value)
{
    std::vector<SecretForm> forms;
    if (value.size() < shortest_secret) {
        return forms;
    }
    add(forms, without_line_ends(value), true);
    for (std::size_t before = 0; before < 3; ++before) {
        const auto encoded = base64_inside(value, before);
        add(forms, encoded);
        add(forms, other_alphabet(encoded));
    }
    add(forms, hex_of(value));
    add(forms, hex_of(value, large_hex_digits));
    auto of_form = without_line_ends(value); // application/x-www-form-urlencoded
    std::ranges::replace(of_form, ' ', '+');
    add(forms, std::move(of_form), true);
    return forms;
}

} // namespace berth::tools
