#include "sandbox/local/launcher/dev.hpp"

#include <linux/mount.h>

namespace berth::local {

void make_dev(const Root& root, std::uint64_t shm_size)
{
    // A new instance: in the host's one a terminal of the host could be opened by its number.
    root.mount_new("devpts", "/dev/pts", {{"ptmxmode", "0666"}, {"mode", "0620"}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    root.mount_new("tmpfs", "/dev/shm", {{"size", std::to_string(shm_size)}, {"mode", "1777"}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

} // namespace berth::local
