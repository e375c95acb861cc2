#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/receipt.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::session {

/// Whose limits, network, template and mounts are told of a session.
enum class ToldMachine : std::uint8_t {
    unknown, ///< nobody's
    next,    ///< what a call of this server would get now
    last,    ///< it is gone
    present, ///< it runs, or is being made
};

struct SessionFacts {
    std::string key;     ///< names its folder; in a list of all sessions only
    std::string session; ///< of a damaged one its key
    std::string principal;
    std::string backend;
    std::string sandbox_id;
    std::string state;   ///< absent, creating, running, ended, lost; paused: running, as its guest
                         ///< says of itself; damaged: its books are no record; unknown: they
                         ///< cannot be read now
    std::string created; ///< RFC 3339, UTC
    std::string last_used;
    std::string why; ///< when it ends
    /// Its machine runs as this server asks for one: the next call has it, unless its guest is too
    /// old for this server.
    bool is_next = false;
    std::string remedy; ///< of a damaged one: what helps
    std::string home;   ///< on the host, for the operator's own eyes; empty when none
    std::string host;   ///< whose machine it is, in books that several hosts write in; else empty
    ToldMachine machine = ToldMachine::unknown; ///< of which the next six are
    sandbox::Limits limits;
    sandbox::Network network = sandbox::Network::none;
    sandbox::Filter filter;
    std::string template_name; ///< empty: the backend's own programs
    std::vector<sandbox::Mount> mounts;
    /// Absent: nobody's, or that of an unnamed session, for which it says nothing.
    std::optional<protocol::OnDisconnect> on_disconnect;
    std::string trouble; ///< why the books could not be asked: this is what the server remembers
    std::string silence; ///< why the guest did not tell: whether it is paused is not known
};

/// A session by what a list of all shows of it that needs no look at its machine.
struct Named {
    std::string key;
    SessionId id; ///< of a damaged one its key is the name
};

/// What runs in a session's machine at this moment.
struct Activity {
    std::string session;
    std::string principal;
    protocol::InfoReply info;
    std::string trouble; ///< why the guest did not tell; `info` is empty then
};

/// One session, from its books and, where its machine runs, from its guest.
struct Sight {
    SessionFacts facts;
    protocol::InfoReply info;
    std::vector<sandbox::Layer> layers; ///< of the machine
    std::string trouble;                ///< why the guest did not tell; `info` is empty then
    bool elsewhere = false;             ///< on another host, where nobody here can ask it
    sandbox::Receipt shown;             ///< of how jobs have ended, for who shows that to an agent
};

} // namespace berth::session
