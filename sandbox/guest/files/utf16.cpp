#include "sandbox/guest/files/utf16.hpp"

namespace berth::guest {
namespace {

void put(unsigned code_point, std::string& out)
{
    const auto byte = [&out](unsigned value) { out += static_cast<char>(value); };
    if (code_point < 0x80) {
        byte(code_point);
    } else if (code_point < 0x800) {
        byte(0xC0U | (code_point >> 6U));
        byte(0x80U | (code_point & 0x3FU));
    } else if (code_point < 0x10000) {
        byte(0xE0U | (code_point >> 12U));
        byte(0x80U | ((code_point >> 6U) & 0x3FU));
        byte(0x80U | (code_point & 0x3FU));
    } else {
        byte(0xF0U | (code_point >> 18U));
        byte(0x80U | ((code_point >> 12U) & 0x3FU));
        byte(0x80U | ((code_point >> 6U) & 0x3FU));
        byte(0x80U | (code_point & 0x3FU));
    }
}

} // namespace

void Utf16Decoder::replace(std::string& out)
{
    damaged_ = true;
    put(0xFFFD, out);
}

void Utf16Decoder::unit(unsigned value, std::string& out)
{
    const bool is_low = value >= 0xDC00 && value <= 0xDFFF;
    if (surrogate_ != 0) {
        if (is_low) {
            put(0x10000 + ((surrogate_ - 0xD800) << 10U) + (value - 0xDC00), out);
            surrogate_ = 0;
            return;
        }
        surrogate_ = 0;
        replace(out);
    }
    if (value >= 0xD800 && value <= 0xDBFF) {
        surrogate_ = value;
    } else if (is_low) {
        replace(out);
    } else {
        put(value, out);
    }
}

void Utf16Decoder::feed(std::string_view bytes, std::string& out)
{
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (!has_byte_) {
            byte_ = byte;
            has_byte_ = true;
            continue;
        }
        has_byte_ = false;
        unit(big_endian_ ? byte_ * 256U + byte : byte * 256U + byte_, out);
    }
}

void Utf16Decoder::finish(std::string& out)
{
    // One for both, as decoders of the WHATWG's standard have it, and so the search.
    if (surrogate_ != 0 || has_byte_) {
        surrogate_ = 0;
        has_byte_ = false;
        replace(out);
    }
}

} // namespace berth::guest
