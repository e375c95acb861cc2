#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace berth::local {

/// Starts the proxy of a session whose network is filtered (filter/policy.hpp). It outlives this
/// server and ends when what is returned is closed everywhere: the session's end of it, for the
/// launch. Empty for another network. `user`: whom it becomes where it is started by root.
/// `socket_path`: of the guest, beside which it takes secrets. Throws Error(sandbox_unavailable)
/// where it does not start.
[[nodiscard]] UniqueFd start_session_proxy(const std::string& program,
                                           const sandbox::MachineSpec& spec, std::uint32_t user,
                                           const std::string& socket_path);

} // namespace berth::local
