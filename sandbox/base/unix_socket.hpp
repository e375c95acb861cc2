#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <string>

// The unix socket of a guest, on either side. Paths may be longer than the 107 bytes of a
// sockaddr_un.

namespace berth {

/// A listening unix socket at `path`, mode 0600, non-blocking and close-on-exec; a file that is
/// there already is replaced. Throws std::system_error.
[[nodiscard]] UniqueFd listen_unix(const std::string& path);

/// A connection to it, blocking and close-on-exec. Throws Error(session_lost) when nobody listens
/// there, Error(backend_error) when the deadline passes first or for any other reason.
[[nodiscard]] UniqueFd connect_unix(const std::string& path, const Deadline& deadline);

} // namespace berth
