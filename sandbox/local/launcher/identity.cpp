#include "sandbox/local/launcher/identity.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/child_process.hpp"
#include "sandbox/local/own_proc.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "identity";

/// Throws where /proc/<pid> of a child is that of another process, or of none: a map that is
/// written there would be that one's.
void require_own_proc()
{
    if (look_at_proc() != OwnProc::ours) {
        throw Failure(step, ESRCH, "find a process of its own in /proc");
    }
}

std::string proc_file(pid_t pid, const char* name)
{
    return "/proc/" + std::to_string(pid) + "/" + name;
}

UniqueFd open_proc(pid_t pid, const char* name)
{
    UniqueFd file(::open(proc_file(pid, name).c_str(), O_WRONLY | O_CLOEXEC));
    require(file.valid(), step, "open " + proc_file(pid, name));
    return file;
}

void write_proc(const UniqueFd& file, const char* name, const std::string& content)
{
    // One write(2): the kernel takes a map whole or not at all.
    require(::write(file.get(), content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()),
            step, std::string("write ") + name);
}

void write_proc(pid_t pid, const char* name, const std::string& content)
{
    write_proc(open_proc(pid, name), name, content);
}

std::string map_line(unsigned long inside, unsigned long outside)
{
    return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
}

/// A process that only holds a new user namespace open while its maps are written.
ChildProcess hold_namespace()
{
    clone_args args{};
    args.flags = CLONE_NEWUSER;
    args.exit_signal = SIGCHLD;
    const pid_t launcher = ::getpid();
    const pid_t pid = sys::clone3(args);
    require(pid >= 0, step, "clone3 for an id map");
    if (pid == 0) {
        // Of a launcher that is killed just now it would stay, with its lock and its sockets.
        ::close_range(0, ~0U, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != launcher) {
            ::_exit(1);
        }
        for (;;) {
            ::pause();
        }
    }
    return ChildProcess(pid);
}

} // namespace

IdentityMaps::IdentityMaps(pid_t child) : child_(child)
{
    require_own_proc();
    uids_ = open_proc(child, "uid_map");
    gids_ = open_proc(child, "gid_map");
}

void IdentityMaps::write(const LaunchSpec& spec) const
{
    if (!spec.privileged) {
        // Without this an ordinary user may write no gid_map: dropping a group could open what a
        // "not for this group" permission closes.
        write_proc(child_, "setgroups", "deny");
    }
    write_proc(uids_, "uid_map", map_line(spec.inner_uid, spec.host_uid));
    write_proc(gids_, "gid_map", map_line(spec.inner_gid, spec.host_gid));
}

void assume_identity(const LaunchSpec& spec)
{
    require(::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0, step, "PR_SET_KEEPCAPS");
    if (spec.privileged) {
        // The caller's groups would open host files that are shared with a group.
        require(::setgroups(0, nullptr) == 0, step, "setgroups");
    }
    require(::setresgid(spec.inner_gid, spec.inner_gid, spec.inner_gid) == 0, step, "setresgid");
    require(::setresuid(spec.inner_uid, spec.inner_uid, spec.inner_uid) == 0, step, "setresuid");
    require(::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0, step, "PR_SET_KEEPCAPS");
}

UniqueFd make_owner_map(uid_t uid, gid_t gid, const LaunchSpec& spec)
{
    require_own_proc();
    const ChildProcess holder = hold_namespace();
    write_proc(holder.pid(), "uid_map", map_line(uid, spec.host_uid));
    write_proc(holder.pid(), "gid_map", map_line(gid, spec.host_gid));
    const std::string path = "/proc/" + std::to_string(holder.pid()) + "/ns/user";
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    require(fd.valid(), step, "open " + path);
    return fd;
}

} // namespace berth::local
