#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <optional>

namespace berth::local {

/// What the server wants of this launcher.
struct Request {
    LaunchSpec spec;
    UniqueFd lifetime; ///< read end of the lifetime pipe, if there is one
};

/// Waits for the request; nothing when the server ended before it had one. Throws
/// std::system_error, protocol::WireError.
[[nodiscard]] std::optional<Request> receive_request(int control);

} // namespace berth::local
