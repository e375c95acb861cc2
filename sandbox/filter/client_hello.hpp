#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::filter {

/// A first flight is longer than this of nobody who means well.
inline constexpr std::size_t longest_client_hello = 16UL * 1024;

/// What the beginning of a connection says of where it goes on to.
struct ClientHello {
    enum class State : std::uint8_t {
        incomplete, ///< what is there may become one
        no_tls,     ///< it is something else
        broken,     ///< TLS whose ClientHello cannot be read
        read,
    };

    State state = State::incomplete;
    std::optional<std::string> server_name; ///< as it was sent
    bool encrypted = false;                 ///< with another one in it (ECH)
};

/// Reads records of TLS (RFC 8446, 5.1) with a ClientHello, which may come in several.
[[nodiscard]] ClientHello read_client_hello(std::string_view bytes);

} // namespace berth::filter
