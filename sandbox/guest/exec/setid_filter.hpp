#pragma once

#include <linux/filter.h>

namespace berth::guest {

/// A system call filter for commands that can write to a folder of the host: no file gets its
/// set-user-id or set-group-id bit, whoever has made it. What a command leaves in such a folder
/// belongs on the host to who runs berth: `cp /bin/bash x; chmod 4755 x` would be a shell with that
/// one's rights, root's where berth runs as root, for everybody on the host. (The sandbox itself
/// runs without new privileges: inside, the bits mean nothing.) The bits of a directory cannot be
/// told apart and are refused as well (EPERM). openat2(2) and io_uring have the mode where no
/// filter can look: they do not exist here (ENOSYS), and libraries do without.
///
/// Only for the native calls: the filter that the launcher installed lets no others through.
/// Static, made at the first call.
[[nodiscard]] const sock_fprog& setid_filter();

} // namespace berth::guest
