#include "sandbox/local/blockers.hpp"

#include "sandbox/base/host_limit.hpp"
#include "sandbox/local/launcher/trees.hpp"
#include "sandbox/local/namespace_blocker.hpp"
#include "sandbox/local/obstacle.hpp"
#include "sandbox/local/place_blocker.hpp"

#include <cerrno>
#include <string_view>
#include <system_error>

namespace berth::local {
namespace {

constexpr auto missing_program = "install berth again, or let BERTH_LIBEXEC_DIR name the folder "
                                 "that has berth-launcher and berth-guest";

bool is_refusal(int error)
{
    return error == EPERM || error == EACCES;
}

/// Nothing is missing on this host, and only who starts the server can do something about it.
std::string way_around(const std::string& step, const std::string& session)
{
    if (step == step_target) {
        return "Rename it on the host, or give the mount another target.";
    }
    return "An entry of the session's own home is in the way. Start the server without that mount "
           "and rename the entry, or give the mount another target; or remove the home with all "
           "that is in it: `berth sessions kill " +
           (session.empty() ? "KEY" : session) + " --purge`.";
}

/// As the kernel's answer: a file or right that the program of that step lacks.
Blocker program_blocker(const LaunchResult& failed)
{
    const bool guest = failed.step == "guest";
    if (!guest && failed.step != "launcher") {
        return {};
    }
    if (failed.error == EACCES) {
        // As root the guest is another uid than the one that installed it, e.g. with a umask of
        // 077.
        return {guest ? "the session's user may not run the guest's program"
                      : "the launcher's program may not be run",
                "chmod a+rx the program, and keep it on a file system without noexec"};
    }
    if (failed.error == ENOENT) {
        return {guest ? "the guest's program is missing" : "the launcher's program is missing",
                missing_program};
    }
    return {};
}

Blocker mount_blocker(const std::string& step)
{
    if (step == step_idmap) {
        return {"its file system cannot map ids, so files written inside would belong to nobody",
                "mount it read-only, or run berth as the folder's owner"};
    }
    if (step == step_idmap_of_root) {
        return {"its file system cannot map ids, so files written inside would belong to nobody",
                "mount it read-only, or copy it to ext4, xfs or btrfs, which can; or give it to "
                "an ordinary user (chown -R) and run berth as that one"};
    }
    return {};
}

/// Of clone(2) alone: elsewhere the kernel says EAGAIN of other things.
Blocker limit_blocker(const LaunchResult& failed)
{
    const bool starts =
        failed.step == "namespaces" || failed.step == "identity" || failed.step == "launcher";
    if (failed.error == EAGAIN && !starts) {
        return {};
    }
    const auto limit = host_limit(failed.error);
    return limit ? Blocker{limit->reason, limit->remedy} : Blocker{};
}

/// Of a step that is refused: whether that can be for want of rights over namespaces and mounts.
/// "server" and "launch" are of anything that went wrong there, by no step of its own.
bool uses_namespaces(const std::string& step)
{
    return step != "cgroup" && step != "socket" && step != "server" && step != "launch";
}

Blocker find_blocker(const LaunchResult& failed, const std::string& root)
{
    for (auto blocker : {limit_blocker(failed), place_blocker(failed, root),
                         program_blocker(failed), mount_blocker(failed.step)}) {
        if (!blocker.reason.empty()) {
            return blocker;
        }
    }
    if (failed.step == "proc" && is_refusal(failed.error)) {
        return {"/proc of this container is masked, so a new one may not be mounted",
                "docker run --security-opt systempaths=unconfined ..."};
    }
    return failed.step == "namespaces" || (is_refusal(failed.error) && uses_namespaces(failed.step))
               ? namespace_blocker(root, failed.error)
               : Blocker{};
}

/// With what the kernel said, once.
std::string what_failed(const LaunchResult& failed)
{
    const std::string answer = std::generic_category().message(failed.error);
    return failed.error == 0 || failed.text.ends_with(": " + answer) ? failed.text
                                                                     : failed.text + ": " + answer;
}

} // namespace

Blocker explain(const LaunchResult& failed, const std::string& root, const std::string& session)
{
    if (failed.step == step_home || failed.step == step_target) {
        return {failed.text, way_around(failed.step, session)};
    }
    if (failed.step == step_killed) {
        return {failed.text,
                "Nothing of the call was done; the next one makes the sandbox anew. Ended it was "
                "by `berth sessions kill`, or by the host, as where that has no memory left (its "
                "kernel's log has it)."};
    }
    const std::string what = what_failed(failed);
    Blocker blocker = find_blocker(failed, root);
    blocker.reason = blocker.reason.empty() ? what : blocker.reason + " (" + what + ")";
    return blocker;
}

} // namespace berth::local
