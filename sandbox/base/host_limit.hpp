#pragma once

#include <optional>
#include <string>

namespace berth {

/// A limit of the host that the server itself met: what it is and what raises it.
struct HostLimit {
    std::string reason;
    std::string remedy;
};

/// Of an errno of the server or of a launcher: EAGAIN of a new process or thread, EMFILE, ENFILE.
/// Nothing for any other. Not for what a session met: its own limits are others.
[[nodiscard]] std::optional<HostLimit> host_limit(int error);

} // namespace berth
