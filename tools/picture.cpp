#include "tools/picture.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth::tools {
namespace {

using namespace std::string_view_literals;

const std::string cut_off = "it is damaged or cut off";

/// Big-endian, 1 to 4 bytes at `at`; 0 behind the end.
std::uint32_t big(std::string_view data, std::size_t at, std::size_t bytes)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        value =
            (value << 8U) | (at + i < data.size() ? static_cast<unsigned char>(data[at + i]) : 0U);
    }
    return value;
}

std::uint32_t little(std::string_view data, std::size_t at, std::size_t bytes)
{
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i > 0; --i) {
        value = (value << 8U) |
                (at + i - 1 < data.size() ? static_cast<unsigned char>(data[at + i - 1]) : 0U);
    }
    return value;
}

std::string judge_size(std::uint32_t width, std::uint32_t height)
{
    if (width == 0 || height == 0) {
        return "it has no pixels";
    }
    if (width > most_pixels || height > most_pixels) {
        return "it has " + std::to_string(width) + "x" + std::to_string(height) +
               " pixels, at most 8000x8000 can be shown; make a smaller copy in the sandbox";
    }
    return {};
}

constexpr std::array<std::uint32_t, 256> make_crc_table()
{
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value & 1U) != 0 ? 0xedb88320U ^ (value >> 1U) : value >> 1U;
        }
        table[i] = value;
    }
    return table;
}

constexpr auto crc_table = make_crc_table();

std::uint32_t crc32(std::string_view data)
{
    std::uint32_t crc = 0xffffffffU;
    for (const char c : data) {
        crc = crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xffU] ^ (crc >> 8U);
    }
    return crc ^ 0xffffffffU;
}

/// PNG 1.2: chunks of length, type, data and checksum; IHDR first, IEND last, IDAT between.
std::string png_fault(std::string_view data)
{
    constexpr std::size_t around = 12; // length, type, checksum
    std::size_t at = 8;
    bool pixels = false;
    if (data.size() < at + 8 || data.substr(at, 8) != "\0\0\0\x0dIHDR"sv) {
        return cut_off;
    }
    while (at + around <= data.size()) {
        const std::size_t length = big(data, at, 4);
        if (length > data.size() - at - around ||
            crc32(data.substr(at + 4, length + 4)) != big(data, at + 8 + length, 4)) {
            return cut_off;
        }
        const auto type = data.substr(at + 4, 4);
        pixels |= type == "IDAT";
        if (type == "IEND") {
            return pixels ? judge_size(big(data, 16, 4), big(data, 20, 4)) : cut_off;
        }
        at += around + length;
    }
    return cut_off;
}

/// Behind the data sub-blocks that begin at `at`; data.size() when they have no end.
std::size_t skip_sub_blocks(std::string_view data, std::size_t at)
{
    while (at < data.size() && data[at] != '\0') {
        at += std::size_t{1} + static_cast<unsigned char>(data[at]);
    }
    return at < data.size() ? at + 1 : data.size();
}

std::size_t gif_palette(std::uint32_t flags)
{
    return (flags & 0x80U) != 0 ? std::size_t{3} << ((flags & 7U) + 1) : 0;
}

/// GIF89a: a screen, then extensions and pictures, then a trailer.
std::string gif_fault(std::string_view data)
{
    constexpr std::size_t screen_size = 13;
    constexpr std::size_t descriptor_size = 10;
    std::size_t at = screen_size + gif_palette(big(data, 10, 1));
    bool pixels = false;
    while (at < data.size()) {
        switch (data[at]) {
        case '\x21':
            at = skip_sub_blocks(data, at + 2);
            break;
        case '\x2c':
            at += descriptor_size + gif_palette(big(data, at + 9, 1));
            at = skip_sub_blocks(data, at + 1);
            pixels = true;
            break;
        case '\x3b':
            return pixels ? judge_size(little(data, 6, 2), little(data, 8, 2)) : cut_off;
        default:
            return cut_off;
        }
    }
    return cut_off;
}

bool is_frame_header(std::uint32_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/// JPEG (T.81): segments up to the first scan, one frame header among them, and an end.
std::string jpeg_fault(std::string_view data)
{
    std::optional<std::string> fault; // since the frame's header
    std::size_t at = 2;
    while (at + 4 <= data.size() && data[at] == '\xff') {
        const std::uint32_t marker = big(data, at + 1, 1);
        if (marker == 0xff) {
            ++at; // filling
            continue;
        }
        const std::size_t length = big(data, at + 2, 2);
        if (length < 2 || length > data.size() - at - 2) {
            return cut_off;
        }
        if (is_frame_header(marker)) {
            if (fault) {
                return cut_off; // a second one, of another size perhaps: no decoder takes it
            }
            fault = judge_size(big(data, at + 7, 2), big(data, at + 5, 2));
        }
        if (marker == 0xda) {
            const bool ends = data.find("\xff\xd9"sv, at + length) != std::string_view::npos;
            return ends ? fault.value_or(cut_off) : cut_off;
        }
        at += 2 + length;
    }
    return cut_off;
}

/// Of the first frame header; none: no size.
PictureSize jpeg_size(std::string_view data)
{
    for (std::size_t at = 2; at + 9 <= data.size() && data[at] == '\xff';) {
        const std::uint32_t marker = big(data, at + 1, 1);
        if (is_frame_header(marker)) {
            return {big(data, at + 7, 2), big(data, at + 5, 2)};
        }
        at += marker == 0xff ? std::size_t{1} : std::size_t{2} + big(data, at + 2, 2);
    }
    return {};
}

/// RFC 9649. The picture's size is in its first chunk, in one of three forms; none: no size.
std::optional<PictureSize> webp_size(std::string_view data)
{
    constexpr std::size_t before_content = 20;
    if (data.size() < before_content + 10) {
        return std::nullopt;
    }
    const auto chunk = data.substr(12, 4);
    if (chunk == "VP8X") {
        return PictureSize{little(data, 24, 3) + 1, little(data, 27, 3) + 1};
    }
    if (chunk == "VP8L" && data[before_content] == '\x2f') {
        const std::uint32_t bits = little(data, 21, 4);
        return PictureSize{(bits & 0x3fffU) + 1, ((bits >> 14U) & 0x3fffU) + 1};
    }
    if (chunk == "VP8 " && data.substr(23, 3) == "\x9d\x01\x2a"sv) {
        return PictureSize{little(data, 26, 2) & 0x3fffU, little(data, 28, 2) & 0x3fffU};
    }
    return std::nullopt;
}

std::string webp_fault(std::string_view data)
{
    constexpr std::size_t before_content = 20; // RIFF, size, WEBP, the chunk's name and size
    const std::size_t size = little(data, 4, 4);
    if (data.size() < before_content + 10 || size > data.size() - 8 ||
        little(data, 16, 4) > data.size() - before_content) {
        return cut_off;
    }
    const auto size_in_pixels = webp_size(data);
    return size_in_pixels ? judge_size(size_in_pixels->width, size_in_pixels->height) : cut_off;
}

} // namespace

std::optional<PictureSize> picture_size(std::string_view beginning, std::string_view mime_type)
{
    PictureSize size;
    if (mime_type == "image/png" && beginning.substr(0, 16).ends_with("IHDR")) {
        size = {big(beginning, 16, 4), big(beginning, 20, 4)};
    } else if (mime_type == "image/gif") {
        size = {little(beginning, 6, 2), little(beginning, 8, 2)};
    } else if (mime_type == "image/jpeg") {
        size = jpeg_size(beginning);
    } else if (mime_type == "image/webp") {
        size = webp_size(beginning).value_or(PictureSize{});
    }
    return size.width > 0 && size.height > 0 ? std::optional(size) : std::nullopt;
}

std::string picture_fault(std::string_view data, std::string_view mime_type)
{
    if (mime_type == "image/png") {
        return png_fault(data);
    }
    if (mime_type == "image/gif") {
        return gif_fault(data);
    }
    if (mime_type == "image/jpeg") {
        return jpeg_fault(data);
    }
    return mime_type == "image/webp" ? webp_fault(data) : "its format is not known";
}

} // namespace berth::tools
