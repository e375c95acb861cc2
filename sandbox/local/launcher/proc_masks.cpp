#include "sandbox/local/launcher/proc_masks.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "proc";

// The kernel's memory, keys, timers and devices. As uid 1000 without capabilities most of them
// could not be opened anyway; a cover holds on a kernel that forgets a check too, and where uid
// 1000 is root of a container: the kernel lets the owner of a setting write it without a
// capability. The last of each is there on every kernel: a cover that is made and not attached
// costs a grace period of the kernel when it is dropped, 0.1 ms.
constexpr std::array masked_files{
    "kcore",    "keys",        "key-users",  "sysrq-trigger", "timer_list",    "sched_debug",
    "mtrr",     "kpagecount",  "kpageflags", "kpagecgroup",   "latency_stats", "interrupts",
    "slabinfo", "vmallocinfo", "kallsyms",   "modules",       "config.gz",     "kmsg"};
constexpr std::array masked_directories{"scsi",   "acpi",     "asound",        "bus", "irq",
                                        "driver", "pressure", "dynamic_debug", "fs"};
constexpr std::array read_only_directories{"sys"};

/// The sandbox's own /dev/null, a device of the host that was checked to be one by its cover's
/// mount flags: a file that could be replaced would turn the mask into a hole.
UniqueFd empty_file(const Root& root)
{
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    UniqueFd null(sys::openat2(root.fd(), "dev/null", how));
    require(null.valid(), step, "open the sandbox's /dev/null");
    return null;
}

UniqueFd empty_folder(const Root& root)
{
    return root.make_directory("/dev/empty");
}

/// One of those that are `ready`, else another. `attached`: one that lies in its place already,
/// whose clones have its flags; of a detached one there are none before Linux 6.15.
UniqueFd take_cover(std::vector<UniqueFd>& ready, const UniqueFd& attached, const UniqueFd& source)
{
    if (!ready.empty()) {
        UniqueFd one = std::move(ready.back());
        ready.pop_back();
        return one;
    }
    if (!attached) {
        return clone_cover(step, source);
    }
    UniqueFd clone(
        ::open_tree(attached.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    require(clone.valid(), step, "clone a cover");
    return clone;
}

/// Covers what is there of `names`, entries of proc itself, which has no links of these names.
template <std::size_t count>
void cover_all(const UniqueFd& proc, const std::array<const char*, count>& names,
               const UniqueFd& source, std::vector<UniqueFd> ready = {})
{
    UniqueFd attached;
    UniqueFd next;
    for (const char* name : names) {
        if (!next) {
            next = take_cover(ready, attached, source);
        }
        if (::move_mount(next.get(), "", proc.get(), name, MOVE_MOUNT_F_EMPTY_PATH) == 0) {
            attached = std::exchange(next, UniqueFd());
        } else {
            require(errno == ENOENT, step, std::string("cover /proc/") + name);
        }
    }
}

template <std::size_t count>
std::vector<UniqueFd> clones(int proc, const std::array<const char*, count>& names,
                             const UniqueFd& source)
{
    std::vector<UniqueFd> made;
    for (const char* name : names) {
        if (::faccessat(proc, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            made.push_back(clone_cover(step, source));
        }
    }
    return made;
}

} // namespace

ProcCovers clone_proc_covers(const Root& root, int proc)
{
    return {.files = clones(proc, masked_files, empty_file(root)),
            .folders = clones(proc, masked_directories, empty_folder(root))};
}

void mask_proc(const Root& root, ProcCovers covers)
{
    const UniqueFd proc = root.make_directory("/proc");
    cover_all(proc, masked_files, empty_file(root), std::move(covers.files));
    cover_all(proc, masked_directories, empty_folder(root), std::move(covers.folders));
    for (const char* name : read_only_directories) {
        if (const UniqueFd place{::openat(proc.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC)}) {
            cover_all(proc, std::array{name}, place);
        }
    }
}

} // namespace berth::local
