#pragma once

#include <string>

namespace berth::filter {

inline constexpr unsigned denied_status = 403;
inline constexpr unsigned head_too_large = 431;
inline constexpr unsigned bad_gateway = 502;
inline constexpr unsigned gateway_timeout = 504;

/// A whole answer of the proxy's own.
[[nodiscard]] std::string page(unsigned status, const std::string& text);

} // namespace berth::filter
