#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace berth::local {

struct SessionProxy {
    UniqueFd session;      ///< the session's end of it, for the launch; empty: there is none
    std::string authority; ///< in PEM, where it opens TLS; else empty
    Process process;       ///< no child of this one
};

/// Whether the proxy of such a machine opens TLS.
[[nodiscard]] bool opens_tls(const sandbox::MachineSpec& spec);

/// PlanInput::bundle: of a machine that opens TLS and has this host's programs.
[[nodiscard]] std::string replaced_bundle(const sandbox::MachineSpec& spec);

/// Starts the proxy of a session whose network is filtered (filter/policy.hpp). It outlives this
/// server and ends when the session's end is closed everywhere. None for another network. `user`:
/// whom it becomes where it is started by root. `socket_path`: of the guest, beside which it takes
/// secrets. `certificates`: filter::Policy::certificates. Throws Error(sandbox_unavailable)
/// where it does not start.
[[nodiscard]] SessionProxy start_session_proxy(const std::string& program,
                                               const sandbox::MachineSpec& spec, std::uint32_t user,
                                               const std::string& socket_path,
                                               const std::string& certificates);

/// Moves it into cgroups of its own below the session's (`sessions`: MachineFacts::cgroups), with
/// which they end: its threads and memory count there and not as the server's, and it lives on
/// where all is ended that is in the server's, as by a restart of its unit. Where there are none,
/// or none can be made, it stays where it is. For whoever has just made the machine.
void move_proxy(const SessionProxy& proxy, const std::vector<std::string>& sessions) noexcept;

} // namespace berth::local
