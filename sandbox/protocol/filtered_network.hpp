#pragma once

// Where a sandbox with a filtered network finds its proxy: on its own loopback.

#include <cstdint>
#include <string_view>

namespace berth::protocol {

inline constexpr std::uint16_t proxy_port = 3128; ///< HTTP, CONNECT and SOCKS5
inline constexpr std::uint16_t name_port = 53;    ///< DNS over UDP: refuses at once
/// Of every command's PATH there: takes a host and a port, and is a way to them through the proxy.
inline constexpr std::string_view tunnel_program = "berth-connect";

} // namespace berth::protocol
