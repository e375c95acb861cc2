#include "sandbox/guest/search/utf16_decoder.hpp"

namespace berth::guest::search {

namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr char32_t first_of_planes = 0x10000;

bool is_high(unsigned unit) noexcept
{
    return (unit & 0xFC00U) == 0xD800U;
}

bool is_low(unsigned unit) noexcept
{
    return (unit & 0xFC00U) == 0xDC00U;
}

std::size_t put(char* out, char32_t c) noexcept
{
    const auto tail = [c](unsigned shift) {
        return static_cast<char>(0x80U | (static_cast<unsigned>(c) >> shift & 0x3FU));
    };
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<char>(0xC0U | static_cast<unsigned>(c) >> 6U);
        out[1] = tail(0);
        return 2;
    }
    if (c < first_of_planes) {
        out[0] = static_cast<char>(0xE0U | static_cast<unsigned>(c) >> 12U);
        out[1] = tail(6);
        out[2] = tail(0);
        return 3;
    }
    out[0] = static_cast<char>(0xF0U | static_cast<unsigned>(c) >> 18U);
    out[1] = tail(12);
    out[2] = tail(6);
    out[3] = tail(0);
    return 4;
}

} // namespace

void Utf16Decoder::begin(bool big_endian)
{
    raw_.clear();
    at_ = 0;
    big_endian_ = big_endian;
    ended_ = false;
}

void Utf16Decoder::feed(std::string_view raw)
{
    raw_.erase(0, at_);
    at_ = 0;
    raw_ += raw;
}

unsigned Utf16Decoder::unit(std::size_t at) const noexcept
{
    const unsigned first = static_cast<unsigned char>(raw_[at]);
    const unsigned second = static_cast<unsigned char>(raw_[at + 1]);
    return big_endian_ ? first << 8U | second : second << 8U | first;
}

/// False when what is left is no whole character yet.
bool Utf16Decoder::next(char32_t& character) noexcept
{
    const std::size_t left = raw_.size() - at_;
    if (left < 2 || (left < 4 && is_high(unit(at_)))) {
        if (!ended_ || left == 0) {
            return false;
        }
        at_ = raw_.size();
        character = replacement;
        return true;
    }
    const unsigned first = unit(at_);
    at_ += 2;
    if (is_high(first) && is_low(unit(at_))) {
        character = first_of_planes + ((first & 0x3FFU) << 10U) + (unit(at_) & 0x3FFU);
        at_ += 2;
    } else {
        character = is_high(first) || is_low(first) ? replacement : static_cast<char32_t>(first);
    }
    return true;
}

std::size_t Utf16Decoder::decode(char* out, std::size_t room) noexcept
{
    std::size_t written = 0;
    char32_t character = 0;
    while (written + max_character <= room && next(character)) {
        written += put(out + written, character);
    }
    return written;
}

} // namespace berth::guest::search
