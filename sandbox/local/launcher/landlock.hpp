#pragma once

#include "sandbox/local/launcher/trees.hpp"

#include <array>
#include <vector>

namespace berth::local {

/// Version of the kernel's Landlock (landlock(7)); 0: it has none that serves, or it is switched
/// off.
[[nodiscard]] unsigned landlock_version() noexcept;

/// A second wall behind the mount namespace, for this process and all that come of it: what is not
/// below the root that was entered cannot be opened, by whatever descriptor an attacker comes to
/// it, and of what is, only the writable `trees`, /dev and /proc can be written. From version 6 on
/// no signal, and no connection to an abstract unix socket, goes to whoever is outside; with the
/// host's network nothing else holds back the latter.
///
/// Needs no_new_privs. Nothing where there is no Landlock. Throws Failure.
struct Reach {
    const std::vector<Tree>& trees; ///< each at the place of its bind in:
    const std::vector<Bind>& binds;
    int cgroups = -1; ///< a directory that the guest writes in though it is below no root
    int program = -1; ///< a file that is executed though it is below no root
    /// Files that the guest has open, though they are below no root, and opens anew for reading by
    /// their names in /proc/self/fd. -1: none.
    std::array<int, 3> reopened{-1, -1, -1};
};

void restrict_files(const Reach& reach);

} // namespace berth::local
