#include "sandbox/local/launcher/dev.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"

#include <string>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <unistd.h>

namespace berth::local {
namespace {

/// Of the 3072 that the kernel usually has for all. tmux and test suites have some dozen.
constexpr const char* most_terminals = "256";

} // namespace

void make_dev(const Root& root, std::uint64_t shm_size)
{
    // A new instance: in the host's one a terminal of the host could be opened by its number. The
    // kernel has one number of terminals for all instances (kernel.pty.max): without a limit of its
    // own one session leaves none to the others, nor to programs of the host's outside of the first
    // instance, which alone has a reserve.
    root.mount_new("devpts", "/dev/pts",
                   {{"ptmxmode", "0666"}, {"mode", "0620"}, {"max", most_terminals}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    root.mount_new("tmpfs", "/dev/shm", {{"size", std::to_string(shm_size)}, {"mode", "1777"}},
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

void resize_shm(const Root& root, std::uint64_t shm_size)
{
    const UniqueFd context(::fspick(root.fd(), "dev/shm", FSPICK_CLOEXEC));
    const std::string size = std::to_string(shm_size);
    require(context &&
                ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", size.c_str(), 0) == 0 &&
                ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0,
            "tmpfs", "set the size of /dev/shm");
}

void give_dev(int root, const LaunchSpec& spec)
{
    for (const char* path : {"dev/shm", "dev/pts/ptmx"}) {
        require(::fchownat(root, path, spec.host_uid, spec.host_gid, AT_SYMLINK_NOFOLLOW) == 0,
                "mounts", std::string("give /") + path + " to the session");
    }
}

} // namespace berth::local
