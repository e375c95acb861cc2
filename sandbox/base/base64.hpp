#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// RFC 4648 section 4, padded.
[[nodiscard]] std::string base64_encode(std::string_view bytes);

/// Nothing unless `text` is exactly what base64_encode() would give for some bytes, line ends
/// (CR, LF) aside: what is cut off or damaged is refused, not half decoded.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

} // namespace berth
