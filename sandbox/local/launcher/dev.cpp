#include "sandbox/local/launcher/dev.hpp"

#include "sandbox/local/failure.hpp"

#include <cerrno>

#include <linux/mount.h>

namespace berth::local {
namespace {

/// Those of mq_open(3), which are there without a place; Landlock's rule for them needs one.
void make_message_queues(const Root& root)
{
    try {
        root.mount_new("mqueue", "/dev/mqueue", {},
                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    } catch (const Failure& failure) {
        if (failure.error() != ENODEV) { // a kernel that was built without
            throw;
        }
    }
}

} // namespace

void make_dev(const Root& root, std::uint64_t shm_size)
{
    // A new instance: in the host's one a terminal of the host could be opened by its number.
    root.mount_new("devpts", "/dev/pts", {{"ptmxmode", "0666"}, {"mode", "0620"}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    root.mount_new("tmpfs", "/dev/shm", {{"size", std::to_string(shm_size)}, {"mode", "1777"}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    make_message_queues(root);
}

} // namespace berth::local
