#pragma once

#include <map>
#include <string>

namespace berth::local {

/// Where the proxy of a machine takes the values of secrets (filter/policy.hpp), beside the guest's
/// socket at `socket_path`, in a folder that no sandbox and no other user sees.
[[nodiscard]] std::string secrets_socket_of(const std::string& socket_path);

/// Has the proxy go by these values, by name, before it returns. Nothing where it has ended: what
/// is asked of it fails, and is told. Throws Error(sandbox_unavailable), retryable.
void bring_secrets(const std::string& socket_path,
                   const std::map<std::string, std::string>& values);

} // namespace berth::local
