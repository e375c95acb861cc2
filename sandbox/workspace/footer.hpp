#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::workspace {

/// What a stored file says of itself, in its last bytes. Content and facts are one file so that one
/// rename replaces both: a crash can never leave the old checksum beside the new content.
struct Footer {
    std::string sha256;     ///< of the content before the footer
    std::uint32_t mode = 0; ///< permission bits
};

inline constexpr std::size_t footer_size = 96;

/// Exactly footer_size bytes of text.
[[nodiscard]] std::string encode(const Footer& footer);

/// Nothing when `text` is no footer or was damaged: it carries a checksum of its own.
[[nodiscard]] std::optional<Footer> decode_footer(std::string_view text);

} // namespace berth::workspace
