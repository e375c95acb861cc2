#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/options/options.hpp"

#include <string>

namespace berth::server::http {

/// A socket that listens, and how clients name it.
struct Listener {
    UniqueFd socket;
    std::string address; ///< of the host it is on; empty: a unix socket
    std::string url;     ///< http://127.0.0.1:8931/mcp, or unix:PATH
};

/// By `--http` or `--unix`. A socket file that nobody listens on any more is replaced. Throws Error
/// that says what to do: the port is taken, another server listens there, the file is something
/// else.
[[nodiscard]] Listener listen_on(const HttpOptions& options);

} // namespace berth::server::http
