#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace berth::direct {

/// Tells a process from a later one with the same pid.
struct ProcessIdentity {
    pid_t pid = -1;
    std::string started; ///< field 22 of /proc/<pid>/stat
};

struct StartedGuest {
    ProcessIdentity identity;
    UniqueFd lifetime; ///< only with ends_with_server: the guest ends when it is closed
};

/// Starts the guest of `spec`, at work in `folder` and listening at `socket`. Returns when it
/// answers. Throws Error(sandbox_unavailable).
[[nodiscard]] StartedGuest start_guest(const std::string& program, const sandbox::MachineSpec& spec,
                                       const std::string& folder, const std::string& socket);

/// How the guest that was started in that folder has ended; nothing where nobody knows.
[[nodiscard]] std::optional<protocol::Parting> parting_of(const std::string& folder);
[[nodiscard]] std::string last_words_of(const std::string& folder);

/// Whether it has certainly ended.
[[nodiscard]] bool has_ended(const ProcessIdentity& identity);

/// Ends it if it still is that process, and waits for that.
void end_guest(const ProcessIdentity& identity);

/// The same of what was started in that folder, by a server that was killed before it had written
/// which process it is.
void end_guests_of(const std::string& folder);

} // namespace berth::direct
