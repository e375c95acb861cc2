#pragma once

#include <string>
#include <string_view>

namespace berth::tools {

/// Why these bytes are no picture that a model can be shown, or nothing: its structure is looked
/// through from beginning to end, and its size in pixels; the pixels themselves are not decoded.
/// `mime_type`: image/png, image/jpeg, image/gif or image/webp.
[[nodiscard]] std::string picture_fault(std::string_view data, std::string_view mime_type);

} // namespace berth::tools
