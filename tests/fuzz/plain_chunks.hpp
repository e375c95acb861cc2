#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::fuzz {

/// A body in chunks as the plainest reader of RFC 9112 7.1 takes it that has all of it at once.
struct PlainChunks {
    std::string body;
    std::size_t length = 0; ///< of the bytes that it came in
};

/// Nothing: it is none, or does not end. Trailers are not taken, nor extensions above 256 bytes.
[[nodiscard]] inline std::optional<PlainChunks> plain_chunks(std::string_view text)
{
    PlainChunks chunks;
    const auto all = text.size();
    for (;;) {
        const auto digits = std::min(text.find_first_not_of("0123456789abcdefABCDEF"), text.size());
        std::uint64_t size = 0;
        if (digits == 0 || digits > 16) {
            return std::nullopt;
        }
        (void)std::from_chars(text.data(), text.data() + digits, size, 16);
        text.remove_prefix(digits);
        const auto end = text.find('\r');
        const auto extension = text.substr(0, end);
        const bool printable = std::ranges::all_of(
            extension, [](char c) { return static_cast<signed char>(c) >= ' ' && c != '\x7f'; });
        if (end == std::string_view::npos || !text.substr(end).starts_with("\r\n") || !printable ||
            (!extension.empty() && extension.front() != ';') || extension.size() > 257) {
            return std::nullopt;
        }
        text.remove_prefix(end + 2);
        if (size > text.size() ||
            !text.substr(static_cast<std::size_t>(size)).starts_with("\r\n")) {
            return std::nullopt;
        }
        chunks.body += text.substr(0, static_cast<std::size_t>(size));
        text.remove_prefix(static_cast<std::size_t>(size) + 2);
        if (size == 0) {
            chunks.length = all - text.size();
            return chunks;
        }
    }
}

} // namespace berth::fuzz
