#pragma once

#include <string>
#include <string_view>

namespace berth::mcp {

/// Appends `data` in base64 (RFC 4648, padded).
void append_base64(std::string& out, std::string_view data);

} // namespace berth::mcp
