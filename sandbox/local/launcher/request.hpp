#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/namespace_keeper.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/local/launcher/socket.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace berth::local {

/// The machine that the server wants of this launcher.
struct Request {
    LaunchSpec spec;
    UniqueFd file;     ///< the spec, encoded
    UniqueFd lock;     ///< Lent, if there is one
    UniqueFd proxy;    ///< the same
    UniqueFd lifetime; ///< the same
};

/// What there may be of a machine by then. The namespaces are those of a machine with this root.
struct MadeAhead {
    std::optional<PreparedRoot> root;
    std::optional<NamespaceKeeper> namespaces;
    std::unique_ptr<ListenSocket> socket; ///< of a guest; none without namespaces
};

/// Whether a request, or the server's end, comes within that time. Does not take it.
[[nodiscard]] bool is_wanted_within(std::chrono::milliseconds time);

/// Drops what is made ahead when it is out of date. Waits for the request on the descriptors of
/// launch_spec.hpp; nothing when the server ended before it had one. Throws std::system_error,
/// protocol::WireError.
[[nodiscard]] std::optional<Request> receive_request(MadeAhead& ahead);

/// All that is in a file that descriptors came with, whoever has read it before. Throws
/// std::system_error.
[[nodiscard]] std::string content_of(const UniqueFd& file);

} // namespace berth::local
