#include "sandbox/guest/files/folded_signs.hpp"

namespace berth::guest {
namespace {

constexpr std::string_view quote_begin = "\xe2\x80";
constexpr std::size_t quote_size = 3;

} // namespace

char plain_quote(std::string_view text) noexcept
{
    if (text.size() < quote_size || !text.starts_with(quote_begin)) {
        return 0;
    }
    const auto last = static_cast<unsigned char>(text[2]);
    // U+2018 to U+201B are single quotes, U+201C to U+201F double ones.
    return last >= 0x98 && last <= 0x9B ? '\'' : last >= 0x9C && last <= 0x9F ? '"' : '\0';
}

FoldedSign fold_sign(std::string_view text, std::size_t at, Behind behind) noexcept
{
    const FoldedSign undecided;
    const bool more = behind == Behind::more;
    if (const char quote = plain_quote(text.substr(at))) {
        return {.sign = quote, .begin = at, .end = at + quote_size, .dropped = false};
    }
    const auto rest = text.substr(at);
    if (more && rest.size() < quote_size && quote_begin.starts_with(rest.substr(0, 2))) {
        return undecided;
    }
    std::size_t end = text.find_first_not_of(" \t", at);
    end = end == std::string_view::npos ? text.size() : end;
    const bool blanks = end > at;
    const auto next = text.substr(end);
    const bool long_run = end - at > longest_blanks;
    if (more && !long_run && (next.empty() || next == "\r")) {
        return undecided;
    }
    if (!long_run && (next.starts_with('\n') || next.starts_with("\r\n"))) {
        return {.sign = '\n',
                .begin = at,
                .end = end + (next.front() == '\r' ? 2U : 1U),
                .dropped = false};
    }
    if (blanks) {
        return {.sign = ' ',
                .begin = at,
                .end = end,
                .dropped = next.empty() && behind == Behind::nothing};
    }
    return {.sign = text[at], .begin = at, .end = at + 1, .dropped = false};
}

} // namespace berth::guest
