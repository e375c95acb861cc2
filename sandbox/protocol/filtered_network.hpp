#pragma once

// Where a sandbox with a filtered network finds its proxy: on its own loopback.

#include <cstdint>

namespace berth::protocol {

inline constexpr std::uint16_t proxy_port = 3128; ///< HTTP, CONNECT and SOCKS5
inline constexpr std::uint16_t name_port = 53;    ///< DNS over UDP: refuses at once

} // namespace berth::protocol
