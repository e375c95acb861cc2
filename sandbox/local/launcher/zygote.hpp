#pragma once

#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/local/launcher/process_name.hpp"

#include <optional>

namespace berth::local {

/// What a launcher is given on its way.
struct Supplies {
    std::optional<PreparedRoot> root; ///< cloned ahead
    Ahead expected;                   ///< but for the base
    bool waits = false;               ///< until there is something to do
};

/// Forks a launcher for each request on zygote_fd, and ends this process when the server ends.
/// Returns in each launcher, which has the descriptors that it shall have, beside the program's and
/// those of a root that was cloned ahead, where one is there. A launcher is a child of the
/// server, not of this process. Throws std::system_error.
[[nodiscard]] Supplies fork_launchers(const ProcessName& name);

} // namespace berth::local
