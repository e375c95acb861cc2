#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::tools {

/// Why these bytes are no picture that a model can be shown, or nothing: its structure is looked
/// through from beginning to end, and its size in pixels; the pixels themselves are not decoded.
/// `mime_type`: image/png, image/jpeg, image/gif or image/webp.
[[nodiscard]] std::string picture_fault(std::string_view data, std::string_view mime_type);

struct PictureSize {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};

/// More pixels in either direction cannot be shown.
inline constexpr std::uint32_t most_pixels = 8000;

/// What the header of a picture says, of which `beginning` may be all that there is; nothing when
/// it is not in there, or of another type.
[[nodiscard]] std::optional<PictureSize> picture_size(std::string_view beginning,
                                                      std::string_view mime_type);

} // namespace berth::tools
