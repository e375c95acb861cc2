#include "sandbox/local/launcher/proc.hpp"

#include <linux/mount.h>

namespace berth::local {

void mount_proc(const Root& root)
{
    root.mount_new("proc", "/proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

} // namespace berth::local
