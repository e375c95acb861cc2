#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

namespace berth::local {

/// The mounts of this process, polled with POLLPRI: ready when one came or went since this was
/// opened, or since the last poll of it, a copy's too. Throws Failure.
[[nodiscard]] UniqueFd open_mounts();

/// Starts the process that keeps a root with these parts, a child of this one. It ends when nobody
/// has the socket any more, and as soon as a mount of the host has come or gone since this was
/// called: what it holds would keep that one's file system from ending. Returns once the root is
/// there; throws Failure, std::system_error when it cannot be made.
[[nodiscard]] UniqueFd start_root_keeper(const RootParts& parts);

/// A clone of all that it keeps, detached, by that socket, which several processes may use at once.
/// Nothing when the keeper has ended, or must. Throws std::system_error.
[[nodiscard]] UniqueFd clone_kept_root(const UniqueFd& keeper);

} // namespace berth::local
