#include "sandbox/local/place_blocker.hpp"

#include "sandbox/local/host_files.hpp"
#include "sandbox/local/own_proc.hpp"
#include "sandbox/local/proc_self.hpp"

#include <cerrno>
#include <exception>
#include <string_view>

#include <linux/capability.h>
#include <unistd.h>

namespace berth::local {
namespace {

Blocker of_proc(const LaunchResult& failed, const std::string& root)
{
    const OwnProc proc = look_at_proc(root);
    if (proc == OwnProc::foreign) {
        return {"/proc is that of another PID namespace than the one that berth runs in",
                "mount the own one over it, as `unshare --pid --fork --mount-proc` does: mount -t "
                "proc proc /proc"};
    }
    // What fails for want of it is a file that is not there.
    if (proc == OwnProc::missing && (failed.error == ENOENT || failed.error == ESRCH)) {
        return {"no /proc is mounted here", "mount -t proc proc /proc"};
    }
    return {};
}

Blocker of_dev(const LaunchResult& failed, const std::string& root)
{
    // A program is started with /dev/null; all of them are mounted.
    const bool starts = failed.step == "launcher";
    if (failed.error != ENOENT || (!starts && failed.step != "mounts")) {
        return {};
    }
    std::string missing;
    for (const std::string_view name : device_names) {
        if ((!starts || name == "null") &&
            ::access((root + "/dev/" + std::string(name)).c_str(), F_OK) != 0) {
            missing += (missing.empty() ? "" : ", ") + std::string(name);
        }
    }
    if (missing.empty()) {
        return {};
    }
    return {"/dev lacks " + missing,
            "start berth where /dev has its devices; mount -t devtmpfs devtmpfs /dev makes them"};
}

/// user_namespaces(7): since Linux 5.12 who maps the id 0 of the outer namespace needs it.
Blocker of_root(const LaunchResult& failed, const std::string& root)
{
    if (failed.step != "identity" || failed.error != EPERM) {
        return {};
    }
    try {
        if (effective_id(root, "Uid") != 0 ||
            (effective_capabilities(root) >> CAP_SETFCAP & 1U) != 0) {
            return {};
        }
    } catch (const std::exception&) {
        return {};
    }
    return {"berth runs as root without CAP_SETFCAP, and the kernel lets no such root make a "
            "sandbox",
            "run it as another user than root, or give it the capability, as docker run --cap-add "
            "SETFCAP does"};
}

Blocker of_scheduling(const LaunchResult& failed, const std::string& root)
{
    try {
        if (failed.step == "cgroup" && failed.error == EINVAL && is_realtime(root)) {
            return {"berth runs with a realtime scheduling policy, which the host's cgroups "
                    "(version 1) give no time",
                    "start it with the usual one: chrt -o 0 berth ..., or "
                    "CPUSchedulingPolicy=other of a service"};
        }
    } catch (const std::exception&) {
        return {}; // no /proc: nothing can be told
    }
    return {};
}

} // namespace

Blocker place_blocker(const LaunchResult& failed, const std::string& root)
{
    for (auto blocker : {of_proc(failed, root), of_dev(failed, root), of_root(failed, root),
                         of_scheduling(failed, root)}) {
        if (!blocker.reason.empty()) {
            return blocker;
        }
    }
    return {};
}

} // namespace berth::local
