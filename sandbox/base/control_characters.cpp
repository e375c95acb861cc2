#include "sandbox/base/control_characters.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>

namespace berth {
namespace {

constexpr char escape_character = '\x1b';

/// From `at` on, how many bytes lie between `first` and `last`.
std::size_t run(std::string_view text, std::size_t at, char first, char last) noexcept
{
    const auto rest = text.substr(std::min(at, text.size()));
    const auto* const end =
        std::find_if_not(rest.begin(), rest.end(), [&](char c) { return c >= first && c <= last; });
    return static_cast<std::size_t>(end - rest.begin());
}

/// With the byte at `at`, if it lies between `first` and `last`.
std::size_t with_final(std::string_view text, std::size_t at, char first, char last) noexcept
{
    return at + std::min<std::size_t>(run(text, at, first, last), 1);
}

/// Parameters, intermediate bytes and the final one of what CSI begins (ECMA-48, 5.4). More than
/// any terminal takes are none, so that no command can make a line of numbers disappear.
std::size_t control_sequence(std::string_view text, std::size_t begin) noexcept
{
    constexpr std::size_t longest = 256;
    std::size_t at = begin + run(text, begin, '0', '?');
    at += run(text, at, ' ', '/');
    const std::size_t end = with_final(text, at, '@', '~');
    return end - begin > longest ? begin : end;
}

/// A title, a link and the like: up to BEL or ESC \. Without an end on its line it is none, so that
/// no command can make more than that disappear.
std::size_t control_string(std::string_view text, std::size_t at) noexcept
{
    constexpr std::size_t longest = 4096;
    for (const std::size_t limit = std::min(text.size(), at + longest); at < limit; ++at) {
        if (text[at] == '\x07') {
            return at + 1;
        }
        if (text[at] == escape_character && text.substr(at).starts_with("\x1b\\")) {
            return at + 2;
        }
        const auto c = static_cast<unsigned char>(text[at]);
        if (c < ' ' || c == 0x7F) {
            break;
        }
    }
    return 0;
}

/// Bytes of the escape sequence at the beginning of `text`, one that is cut off by its end
/// included; 0: there is none.
std::size_t sequence_length(std::string_view text) noexcept
{
    if (text.starts_with("\xC2\x9B")) {
        return control_sequence(text, 2);
    }
    if (text.front() != escape_character) {
        return 0;
    }
    const char kind = text.size() > 1 ? text[1] : '\0';
    if (kind == '[') {
        return control_sequence(text, 2);
    }
    if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
        const std::size_t end = control_string(text, 2);
        return end > 0 ? end : 2;
    }
    return with_final(text, 1 + run(text, 1, ' ', '/'), '0', '~');
}

/// Carriage returns at the beginning of `text` that are a line's end, or the end of all.
std::size_t line_end_returns(std::string_view text) noexcept
{
    const auto returns = text.substr(0, longest_line_end + 1).find_first_not_of('\r');
    const bool ends =
        returns == std::string_view::npos ? text.size() <= longest_line_end : text[returns] == '\n';
    return ends ? std::min(returns, text.size()) : 0;
}

std::size_t written_characters(std::string_view character) noexcept
{
    const bool plain = character == "\n" || character == "\t";
    return plain ? 1 : escaped_count(character);
}

} // namespace

Unit first_unit(std::string_view text, ControlCharacters treatment) noexcept
{
    const std::size_t length = std::max<std::size_t>(utf8::character_length(text), 1);
    if (treatment == ControlCharacters::pass) {
        return {length, 1};
    }
    if (treatment == ControlCharacters::strip) {
        if (const std::size_t sequence = sequence_length(text); sequence > 0) {
            return {sequence, 0};
        }
    }
    if (const std::size_t returns = line_end_returns(text); returns > 0) {
        return {returns, returns};
    }
    return {length, written_characters(text.substr(0, length))};
}

ShownText show(std::string_view text, ControlCharacters treatment)
{
    ShownText shown;
    if (treatment == ControlCharacters::pass) {
        shown.text = utf8::sanitize(text);
        return shown;
    }
    while (!text.empty()) {
        const Unit unit = first_unit(text, treatment);
        const auto bytes = text.substr(0, unit.bytes);
        if (unit.characters == 0) {
            ++shown.sequences;
        } else if (unit.characters <= unit.bytes) {
            shown.text += bytes;
        } else {
            shown.text += visible(bytes);
        }
        text.remove_prefix(unit.bytes);
    }
    return shown;
}

std::size_t shown_characters(std::string_view text, ControlCharacters treatment)
{
    std::size_t characters = 0;
    while (!text.empty()) {
        const Unit unit = first_unit(text, treatment);
        characters += unit.characters;
        text.remove_prefix(unit.bytes);
    }
    return characters;
}

} // namespace berth
