#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

namespace berth::local {

/// Starts the process that keeps a root with these parts, a child of this one. It ends when nobody
/// has the socket any more, and when `mounts`, polled with POLLPRI, tells of a mount that came or
/// went: what it holds would keep that one's file system from ending. Returned once the root is
/// there; throws Failure, std::system_error when it cannot be made.
[[nodiscard]] UniqueFd start_root_keeper(const RootParts& parts, const UniqueFd& mounts);

/// A clone of all that it keeps, detached, by that socket, which several processes may use at once.
/// Nothing when the keeper has ended. Throws std::system_error.
[[nodiscard]] UniqueFd clone_kept_root(const UniqueFd& keeper);

} // namespace berth::local
