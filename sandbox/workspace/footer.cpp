#include "sandbox/workspace/footer.hpp"

#include "sandbox/base/sha256.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace berth::workspace {
namespace {

// "\nberth-file 1 <sha256> <mode, 4 octal digits> <check>\n"
constexpr std::string_view magic = "\nberth-file 1 ";
constexpr std::size_t sha_digits = 64;
constexpr std::size_t mode_digits = 4;
constexpr std::size_t check_digits =
    footer_size - magic.size() - sha_digits - mode_digits - std::string_view("  \n").size();

std::string check_of(std::string_view before)
{
    return sha256_hex(before).substr(0, check_digits);
}

} // namespace

std::string encode(const Footer& footer)
{
    std::array<char, mode_digits + 1> mode{};
    (void)std::snprintf(mode.data(), mode.size(), "%04o", footer.mode & 07777U);
    std::string text(magic);
    text.append(footer.sha256).append(" ").append(mode.data()).append(" ");
    text += check_of(text);
    text += '\n';
    return text;
}

std::optional<Footer> decode_footer(std::string_view text)
{
    const std::string_view before = text.substr(0, text.size() - (check_digits + 1));
    if (text.size() != footer_size || !text.starts_with(magic) || text.back() != '\n' ||
        text.substr(before.size(), check_digits) != check_of(before)) {
        return std::nullopt;
    }
    Footer footer;
    footer.sha256 = text.substr(magic.size(), sha_digits);
    const std::string_view mode = text.substr(magic.size() + sha_digits + 1, mode_digits);
    const auto [end, error] = std::from_chars(mode.begin(), mode.end(), footer.mode, 8);
    if (error != std::errc() || end != mode.end()) {
        return std::nullopt;
    }
    return encode(footer) == text ? std::optional(std::move(footer)) : std::nullopt;
}

} // namespace berth::workspace
