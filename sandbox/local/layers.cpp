#include "sandbox/local/layers.hpp"

#include "sandbox/base/landlock.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace berth::local {
namespace {

sandbox::Layer limit_layer(const std::string& name, bool in_force, const CgroupLayout& cgroups,
                           bool command_cgroups, const std::string& what)
{
    if (!in_force) {
        return {name, false, "no cgroup of this user limits " + what};
    }
    if (!cgroups.v2_controllers) {
        return {name, true, what + " of all commands together, cgroup v1"};
    }
    return {name, true,
            what + " of all commands" + (command_cgroups ? "" : " and the guest") +
                " together, cgroup v2"};
}

sandbox::Layer kill_layer(bool in_force)
{
    if (!in_force) {
        return {"cgroup-kill", false, "commands are stopped through a subreaper each"};
    }
    return {"cgroup-kill", true, "each command has a cgroup of its own"};
}

/// The names of the session's own cgroups are seen inside in any case. The namespace begins where
/// the guest was started: in v2 that is its own cgroup, in v1 the server's, for those of v1 are
/// entered later.
sandbox::Layer cgroup_namespace_layer(const CgroupSpec& cgroup)
{
    if (!cgroup.new_namespace) {
        return {"cgroupns", false, "the full names of the session's cgroups can be seen inside"};
    }
    const bool v1 = !cgroup.v1.directories().empty();
    return {"cgroupns", true,
            std::string("of the host's cgroups only the session's own can be named inside") +
                (v1 ? ", those of cgroup v1 by berth's names for them" : "")};
}

sandbox::Layer uid_layer(const LaunchSpec& plan, const std::string& no_own_uids)
{
    const std::string uid = std::to_string(plan.host_uid);
    if (plan.privileged) {
        return {"uid", true, "host uid " + uid + " is no other session's of this state directory"};
    }
    return {"uid", false,
            "host uid " + uid +
                " is that of the user who runs berth; only root can give each session its own (" +
                no_own_uids + ")"};
}

sandbox::Layer landlock_layer(unsigned version)
{
    if (version == 0) {
        return {"landlock", false,
                "this kernel has none that lets files be moved (Linux 5.19), or it is switched off "
                "(lsm=landlock,...)"};
    }
    return {"landlock", true,
            "files outside of the root cannot be opened, and only writable ones written" +
                std::string(version >= landlock_with_scopes
                                ? "; no signals or abstract sockets to outside"
                                : "; the scopes of signals and sockets need Linux 6.12")};
}

sandbox::Layer quota_layer(const std::string& obstacle)
{
    if (!obstacle.empty()) {
        return {"quota", false, "session.quota is kept by berth's own count: " + obstacle};
    }
    return {"quota", true, "the kernel refuses what makes the home larger than session.quota"};
}

} // namespace

std::vector<sandbox::Layer> limit_layers(const CgroupLayout& cgroups, bool command_cgroups)
{
    return {
        limit_layer("cgroup-memory", cgroups.limits_memory(), cgroups, command_cgroups,
                    "the memory"),
        limit_layer("cgroup-pids", cgroups.limits_pids(), cgroups, command_cgroups, "the number"),
        limit_layer("cgroup-cpu", cgroups.limits_cpu(), cgroups, command_cgroups, "the cpu time")};
}

std::vector<sandbox::Layer> layers_of(const LaunchSpec& plan, const LaunchResult& result,
                                      const CgroupLayout& cgroups, const std::string& no_own_uids,
                                      const std::string& quota_obstacle,
                                      const std::string& template_directory)
{
    const bool mapped = std::any_of(plan.binds.begin(), plan.binds.end(),
                                    [](const Bind& bind) { return bind.id_mapped; });
    const bool command_cgroups = cgroups.kills() && !result.nested_closed_by_filter;
    // Those that are told without a look: the launch fails where clone3(2) cannot make every
    // namespace that it is asked for, or where the root, the filter or the closing of nested
    // namespaces cannot be had.
    std::vector<sandbox::Layer> layers{
        {"userns", true, "no capabilities; uid 1000 is the only user"},
        {"nested-userns", true,
         result.nested_closed_by_filter ? "closed by seccomp"
                                        : "closed by user.max_user_namespaces"},
        {"pidns", true, "no process of the host can be seen or signalled"},
        {"mountns", true,
         "own root; " +
             (template_directory.empty() ? "the host's /usr and parts of /etc"
                                         : "the template " + visible(template_directory)) +
             " read-only"},
        {"ipcns", true, "no shared memory, semaphores or message queues of the host"},
        {"utsns", true, "a host name of its own"},
        cgroup_namespace_layer(plan.cgroup),
        {"netns", plan.surroundings.own_network,
         !plan.surroundings.own_network ? "the host's network, as asked for"
         : plan.filtered_network        ? "only loopback, with berth's proxy on it"
                                        : "only loopback"},
        {"seccomp", true, "system calls: docs/security.md lists what is refused"},
        landlock_layer(result.landlock),
        uid_layer(plan, no_own_uids),
    };
    for (auto& layer : limit_layers(cgroups, command_cgroups)) {
        if (std::find(result.missing.begin(), result.missing.end(), layer.name) !=
            result.missing.end()) {
            layer = {layer.name, false, kernel_lacks_limit};
        }
        layers.push_back(std::move(layer));
    }
    layers.push_back(kill_layer(command_cgroups));
    if (plan.guest.quota != 0) {
        layers.push_back(quota_layer(quota_obstacle));
    }
    if (mapped) {
        layers.push_back({"idmap", true, "files in writable mounts stay their owner's"});
    }
    return layers;
}

} // namespace berth::local
