#pragma once

#include "sandbox/protocol/on_disconnect.hpp"
#include "sandbox/sandbox.hpp"

namespace berth::session {

/// What a server does last with a session's machine of which no connection is kept: it says that it
/// leaves, and where nobody else is there has it sleep, if the session's policy is that. A machine
/// that sleeps is not woken for it. True: nobody else is there. False for one that sees by itself
/// who leaves. Takes some seconds at most.
[[nodiscard]] bool depart(sandbox::Sandbox& sandbox, protocol::OnDisconnect policy) noexcept;

} // namespace berth::session
