#include "sandbox/local/launcher/proc.hpp"

#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/thread_number.hpp"

#include <csignal>
#include <exception>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "proc";
constexpr unsigned flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr const char* place = "/mnt"; // of the host's, as every root has it

UniqueFd own_namespace()
{
    UniqueFd mine(::open((std::string(place) + "/self/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
    require(mine.valid(), step, "open the mount namespace");
    return mine;
}

void enter(const UniqueFd& mounts)
{
    require(::setns(mounts.get(), CLONE_NEWNS) == 0, step, "enter a mount namespace");
}

} // namespace

void mount_proc(const Root& root)
{
    root.mount_new("proc", "/proc", {}, flags);
}

ProcNamespace::ProcNamespace()
    : tree_(::open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE))
{
    mount_attr attributes{};
    attributes.propagation = MS_PRIVATE;
    require(tree_ && ::mount_setattr(tree_.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                                     sizeof attributes) == 0,
            step, "clone the host's /proc");
}

void ProcNamespace::split_off(const Root& root)
{
    root.attach({.mount = std::move(tree_)}, place);
    root.enter();
    own_ = own_namespace();
    require(::unshare(CLONE_NEWNS) == 0, step, "make a mount namespace");
    const UniqueFd other = own_namespace();
    enter(own_);
    require(::umount2(place, MNT_DETACH) == 0, step, "let go of the host's /proc");
    enter(other);
}

bool ProcNamespace::can_make_proc()
{
    clone_args args{};
    args.flags = CLONE_NEWPID;
    args.exit_signal = SIGCHLD;
    const pid_t pid = clone_with_thread_number(args);
    if (pid == 0) {
        try {
            (void)new_mount("proc", {}, flags);
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

void ProcNamespace::leave(const Root& root)
{
    const Tree proc{.mount = new_mount("proc", {}, flags)};
    enter(own_);
    own_.reset();
    root.attach(proc, "/proc");
}

} // namespace berth::local
