#pragma once

#include "sandbox/filter/body.hpp"
#include "sandbox/filter/proxy/stream.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/protocol/messages.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace berth::filter {

class SendAllowance;

/// What is relayed between a client and the server that was dialled for it.
struct Relayed {
    Stream& client;
    Stream& server;
    std::string head;        ///< of a request, as it goes to the server
    std::string from_client; ///< has come already
    /// Of a request: what goes to the server behind the head, and nothing after that. Of nothing:
    /// all until the client's end.
    std::optional<Body> body;
    const Target& target; ///< as it was asked for
    /// What the client sends is held back until it is known where it goes.
    bool is_tunnel = false;
    SendAllowance* allowance = nullptr; ///< null: of any size

    struct End {
        std::optional<protocol::Denial> denial; ///< why it was cut
        bool answered = false;                  ///< the client has a part of an answer
    };
};

/// Until either is done, or silent for too long. Whose server broke off, or was silent for too
/// long, is left to be reset (break_off()). The client has been told nothing of a denial by then.
/// Throws BadRequest for a body that cannot be read to its end, while the client has no part of an
/// answer.
[[nodiscard]] Relayed::End relay(Relayed relayed);

/// Why a tunnel may not go on with these first bytes of its client; `undecided` where more of them
/// are to come. Over port 443 nothing but TLS goes, and TLS goes nowhere but to the name that was
/// asked for, said openly.
struct TunnelVerdict {
    bool undecided = false;
    std::optional<protocol::Denial> denial;
};

[[nodiscard]] TunnelVerdict judge_tunnel(const Target& target, std::string_view bytes);

} // namespace berth::filter
