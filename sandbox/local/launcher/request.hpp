#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"

#include <optional>

namespace berth::local {

/// What the server wants of this launcher: to make a machine, or, without a spec, to prepare for
/// one with this base.
struct Request {
    std::optional<LaunchSpec> spec;
    RootParts base;
    UniqueFd lock;     ///< Lent, if there is one
    UniqueFd lifetime; ///< the same
};

/// Drops `root` when it is out of date. Waits for the next request on the descriptors of
/// launch_spec.hpp; nothing when the server ended before it had one. Throws std::system_error,
/// protocol::WireError.
[[nodiscard]] std::optional<Request> receive_request(std::optional<PreparedRoot>& root);

} // namespace berth::local
