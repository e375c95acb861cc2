#pragma once

#include "sandbox/filter/proxy/stream.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::filter {

/// What is relayed between a client and the server that was dialled for it.
struct Relayed {
    Stream& client;
    Stream& server;
    std::string from_client; ///< has come already
    /// So much more goes to the server, nothing after that; nothing: until the client's end.
    std::optional<std::uint64_t> most_from_client;
    /// Of a tunnel: the target as it was asked for. What the client sends is held back until it is
    /// known where it goes.
    const Target* tunnel = nullptr;
};

/// Until either is done, or silent for too long. Returns why a tunnel was cut; the client has been
/// told nothing of it by then.
[[nodiscard]] std::optional<protocol::Denial> relay(Relayed relayed);

/// Why a tunnel may not go on with these first bytes of its client; `undecided` where more of them
/// are to come. Over port 443 nothing but TLS goes, and TLS goes nowhere but to the name that was
/// asked for, said openly.
struct TunnelVerdict {
    bool undecided = false;
    std::optional<protocol::Denial> denial;
};

[[nodiscard]] TunnelVerdict judge_tunnel(const Target& target, std::string_view bytes);

} // namespace berth::filter
