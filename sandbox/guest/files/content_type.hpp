#pragma once

#include <string>
#include <string_view>

namespace berth::guest {

enum class TextEncoding : unsigned char { utf8, utf8_bom, utf16le, utf16be, binary };

/// How many bytes of a file's beginning tell what it is.
inline constexpr std::size_t sniff_size = 64UL * 1024;

/// By byte order mark, else binary when there is a NUL byte (as git and grep do) or the magic
/// number of a format that is never text.
[[nodiscard]] TextEncoding sniff_encoding(std::string_view beginning) noexcept;

/// "UTF-16LE", "UTF-16BE", "UTF-32LE" or "UTF-32BE" by byte order mark, else empty: text in which a
/// character is not its byte, so that bytes must not be taken out of it or put into it.
[[nodiscard]] std::string_view wide_encoding(std::string_view beginning) noexcept;

/// By magic number, never by name; empty when unknown.
[[nodiscard]] std::string_view mime_type(std::string_view beginning) noexcept;

/// What MCP clients and models take as an image.
[[nodiscard]] bool is_image(std::string_view mime_type) noexcept;

[[nodiscard]] std::size_t bom_size(TextEncoding encoding) noexcept;

} // namespace berth::guest
