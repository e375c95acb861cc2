#include "sandbox/guest/files/content_type.hpp"

#include <array>

namespace berth::guest {
namespace {

using namespace std::string_view_literals;

struct Magic {
    std::string_view bytes;
    std::string_view mime_type;
};

constexpr std::array magics = {
    Magic{"\x89PNG\r\n\x1a\n"sv, "image/png"},
    Magic{"\xff\xd8\xff"sv, "image/jpeg"},
    Magic{"GIF87a"sv, "image/gif"},
    Magic{"GIF89a"sv, "image/gif"},
    Magic{"%PDF-"sv, "application/pdf"},
    Magic{"PK\x03\x04"sv, "application/zip"},
    Magic{"PK\x05\x06"sv, "application/zip"},
    Magic{"\x1f\x8b"sv, "application/gzip"},
    Magic{"BZh"sv, "application/x-bzip2"},
    Magic{"\xfd"
          "7zXZ\0"sv,
          "application/x-xz"},
    Magic{"\x28\xb5\x2f\xfd"sv, "application/zstd"},
    Magic{"7z\xbc\xaf\x27\x1c"sv, "application/x-7z-compressed"},
    Magic{"\x7f"
          "ELF"sv,
          "application/x-executable"},
    Magic{"SQLite format 3\0"sv, "application/vnd.sqlite3"},
    Magic{"\0asm"sv, "application/wasm"},
    Magic{"OggS"sv, "audio/ogg"},
    Magic{"ID3"sv, "audio/mpeg"},
    Magic{"fLaC"sv, "audio/flac"},
};

/// Formats whose beginning can be free of NUL bytes and is not text all the same. The others with a
/// magic number of plain letters (BZh, ID3) could be the first word of a text.
bool is_never_text(std::string_view type) noexcept
{
    return is_image(type) || type == "application/pdf" || type == "application/gzip" ||
           type == "application/zstd" || type == "application/zip";
}

} // namespace

TextEncoding sniff_encoding(std::string_view beginning) noexcept
{
    if (beginning.starts_with("\xef\xbb\xbf")) {
        return TextEncoding::utf8_bom;
    }
    if (beginning.starts_with("\xff\xfe") && !beginning.starts_with("\xff\xfe\0\0"sv)) {
        return TextEncoding::utf16le;
    }
    if (beginning.starts_with("\xfe\xff")) {
        return TextEncoding::utf16be;
    }
    if (beginning.substr(0, sniff_size).find('\0') != std::string_view::npos ||
        is_never_text(mime_type(beginning))) {
        return TextEncoding::binary;
    }
    return TextEncoding::utf8;
}

std::string_view wide_encoding(std::string_view beginning) noexcept
{
    if (beginning.starts_with("\xff\xfe\0\0"sv)) {
        return "UTF-32LE";
    }
    if (beginning.starts_with("\0\0\xfe\xff"sv)) {
        return "UTF-32BE";
    }
    switch (sniff_encoding(beginning)) {
    case TextEncoding::utf16le:
        return "UTF-16LE";
    case TextEncoding::utf16be:
        return "UTF-16BE";
    case TextEncoding::utf8:
    case TextEncoding::utf8_bom:
    case TextEncoding::binary:
        break;
    }
    return {};
}

std::string_view mime_type(std::string_view beginning) noexcept
{
    for (const auto& magic : magics) {
        if (beginning.starts_with(magic.bytes)) {
            return magic.mime_type;
        }
    }
    constexpr std::size_t tar_magic = 257; // POSIX: the field "magic" of the first header
    if (beginning.size() > tar_magic && beginning.substr(tar_magic).starts_with("ustar")) {
        return "application/x-tar";
    }
    if (beginning.starts_with("RIFF") && beginning.size() >= 12) {
        const auto form = beginning.substr(8, 4);
        if (form == "WEBP") {
            return "image/webp";
        }
        if (form == "WAVE") {
            return "audio/wav";
        }
    }
    return {};
}

bool is_image(std::string_view type) noexcept
{
    return type == "image/png" || type == "image/jpeg" || type == "image/gif" ||
           type == "image/webp";
}

std::size_t bom_size(TextEncoding encoding) noexcept
{
    switch (encoding) {
    case TextEncoding::utf8_bom:
        return 3;
    case TextEncoding::utf16le:
    case TextEncoding::utf16be:
        return 2;
    case TextEncoding::utf8:
    case TextEncoding::binary:
        break;
    }
    return 0;
}

} // namespace berth::guest
