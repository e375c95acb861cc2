#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>

namespace berth::rpc {
namespace {

/// In UTF-8 it begins U+0080 to U+00BF, of which the first half are the control characters C1.
constexpr unsigned char before_c1 = 0xC2;
constexpr unsigned char last_c1 = 0x9F;

constexpr std::array<bool, 256> make_specials()
{
    std::array<bool, 256> specials{};
    for (std::size_t control = 0; control < 0x20; ++control) {
        specials.at(control) = true;
    }
    specials.at('"') = true;
    specials.at('\\') = true;
    specials.at(0x7f) = true;
    specials.at(before_c1) = true;
    return specials;
}

constexpr std::array<bool, 256> specials = make_specials();

void append_escaped(std::string& out, unsigned char byte)
{
    constexpr std::string_view digits = "0123456789abcdef";
    switch (byte) {
    case '"':
        out += "\\\"";
        break;
    case '\\':
        out += "\\\\";
        break;
    case '\n':
        out += "\\n";
        break;
    case '\t':
        out += "\\t";
        break;
    case '\r':
        out += "\\r";
        break;
    default:
        out += "\\u00";
        out += digits[byte >> 4U];
        out += digits[byte & 0xFU];
    }
}

} // namespace

void append_quoted(std::string& out, std::string_view text)
{
    out.reserve(out.size() + text.size() + text.size() / 16 + 2);
    out += '"';
    std::size_t plain = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        auto byte = static_cast<unsigned char>(text[at]);
        if (!specials[byte]) {
            continue;
        }
        const auto begin = at;
        if (byte == before_c1 && at + 1 < text.size()) {
            byte = static_cast<unsigned char>(text[++at]); // the number of the character, too
            if (byte > last_c1) {
                continue;
            }
        }
        out.append(text, plain, begin - plain);
        append_escaped(out, byte);
        plain = at + 1;
    }
    out.append(text, plain);
    out += '"';
}

std::size_t quoted_size(std::string_view text)
{
    constexpr std::size_t by_number = 5; // \u00XX in place of one byte
    std::size_t size = text.size() + 2;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (!specials[byte]) {
            continue;
        }
        if (byte == before_c1) {
            const bool is_control =
                at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) <= last_c1;
            size += is_control ? by_number - 1 : 0;
            at += is_control ? 1 : 0;
        } else {
            const bool is_short = std::string_view("\"\\\n\t\r").find(text[at]) != text.npos;
            size += is_short ? 1 : by_number;
        }
    }
    return size;
}

std::string to_text(const nlohmann::json& value)
{
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_member(const nlohmann::json& object, const std::string& name)
{
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace berth::rpc
