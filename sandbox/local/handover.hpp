#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <optional>
#include <vector>

namespace berth::local {

/// What server and launcher make while the child puts its root together: the server hands its part
/// to the launcher, which adds its own and hands it to the child.
struct Handover {
    UniqueFd listen;                     ///< the guest's socket; none for a probe
    UniqueFd parting;                    ///< see GuestConfig::parting_fd; none for a probe
    UniqueFd oom_events;                 ///< none: without a memory cgroup
    UniqueFd pids_events;                ///< none: no cgroup counts processes
    UniqueFd cpu_stat;                   ///< none: none limits processor time
    UniqueFd run_cgroup;                 ///< as root, where commands have cgroups of their own
    UniqueFd freezer;                    ///< v1: freezer.state of the commands; none: v2 freezes
    std::vector<UniqueFd> guest_tasks;   ///< v1: joined by the child
    std::vector<UniqueFd> command_tasks; ///< v1: joined by each command
    std::vector<UniqueFd> mounts;        ///< as root: of the late binds, in their order
    bool home_limited = false;           ///< by the kernel
};

/// Of cgroups: what `other` has and `handover` has not, or may have many of.
void add_to(Handover& handover, Handover other);

/// False when the receiver is gone.
[[nodiscard]] bool send_handover(int socket, const Handover& handover);

/// Waits for it; nothing when who should send it is gone. Throws std::system_error.
[[nodiscard]] std::optional<Handover> receive_handover(int socket);

} // namespace berth::local
