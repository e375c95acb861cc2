#pragma once

#include <string>
#include <string_view>

namespace berth::local {

/// Where the sockets of guests are: as root in /run/berth; an ordinary user's in <state>/sockets,
/// since $XDG_RUNTIME_DIR goes with the last logout, which its machines outlive. On a file system
/// that has no sockets they are in $XDG_RUNTIME_DIR/berth all the same, and root's in
/// <state>/sockets where /run/berth cannot be used. Made 0700 when missing. Throws
/// Error(sandbox_unavailable).
[[nodiscard]] std::string runtime_folder(const std::string& state, bool privileged);

/// The same one, where it has gone since: its state directory was moved, or somebody cleared up.
/// Throws as that does.
void renew_runtime_folder(const std::string& folder);

/// What begins the names of files by which it is seen whether the folder can have sockets. They are
/// there for a moment, or left by a process that was killed in it.
inline constexpr std::string_view probe_prefix = "probe-";

/// Of a machine's guest, in that folder.
[[nodiscard]] inline std::string socket_in(const std::string& folder, const std::string& machine_id)
{
    return folder + '/' + machine_id + ".sock";
}

} // namespace berth::local
