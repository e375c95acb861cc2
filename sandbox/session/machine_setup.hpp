#pragma once

#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// What the operator has every fresh machine made ready with (`session.setup`).
struct Setup {
    std::vector<std::string> commands; ///< of bash, in the home, one after the other
    std::chrono::seconds timeout{600}; ///< of all together
    /// Variables of each, on top of the machine's; may be empty.
    std::function<std::map<std::string, std::string>()> variables;
    /// Secrets of which they have a placeholder (Sandbox::placeholders()); may be empty.
    std::function<std::map<std::string, std::string>()> withheld;
    /// The guest gets to know these files as they are behind each: what the operator has made of
    /// them is no change by the agent. Absent: none is protected.
    std::optional<protocol::Protection> protection;
};

/// Error(busy) for who finds the session being made. `more`: what is advised besides.
[[nodiscard]] Error busy_making(const Setup& setup, const std::string& what,
                                const std::string& more = {});

/// Runs them in a machine that nobody else knows yet; blocks until they are done. What one leaves
/// running is stopped. Returns what the agent is told, empty where there is nothing to run. Throws
/// Error(sandbox_unavailable) for the first that fails, with its last output, or cannot be run: the
/// machine is not what its operator wants it to be, and must not be used; the same where somebody
/// ended it meanwhile. Throws Error(cancelled) after a stop request.
[[nodiscard]] std::string set_up(sandbox::Sandbox& sandbox, const Setup& setup,
                                 const std::stop_token& stop = {});

} // namespace berth::session
