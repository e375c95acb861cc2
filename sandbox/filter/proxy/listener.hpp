#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/interception.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/filter/secret_book.hpp"

namespace berth::filter {

class SendAllowance;

/// What the launcher has handed out of the session's loopback.
struct SessionSockets {
    UniqueFd connections; ///< listens
    UniqueFd names;       ///< of UDP
};

/// Waits for the launcher's message on the control socket (policy.hpp); without sockets: nobody
/// sends any more. Throws std::system_error.
[[nodiscard]] SessionSockets receive_sockets(int control);

/// Serves them, each connection by a thread, and ends the process when the guest has ended: what it
/// was given is in use by these threads to the last.
/// `interception`, `allowance`: as those of Service.
[[noreturn]] void serve_session(int control, const SessionSockets& sockets, const Rules& rules,
                                const SecretBook& secrets, const Interception* interception,
                                SendAllowance* allowance) noexcept;

} // namespace berth::filter
