#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// A part of a URL with each %XX as its byte; nothing where a % is followed by something else than
/// two hexadecimal digits, or by 00.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// Letters, digits and what is in `plain` as they are, every other byte as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view plain = "-._~");

} // namespace berth
