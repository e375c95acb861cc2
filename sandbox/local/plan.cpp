#include "sandbox/local/plan.hpp"

#include "sandbox/command_environment.hpp"
#include "sandbox/local/cgroup_files.hpp"
#include "sandbox/local/environment.hpp"
#include "sandbox/local/etc_files.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/spec_for_guest.hpp"

#include <algorithm>
#include <utility>

namespace berth::local {
namespace {

// The guest stays under 4 MB; the rest is for commands between their start and their own cgroup.
constexpr std::uint64_t guest_memory = 256ULL << 20U;

void append(auto& to, const auto& from)
{
    to.insert(to.end(), from.begin(), from.end());
}

std::vector<Bind> session_binds(const std::string& folder)
{
    const std::string home(inner_home);
    return {
        {.source = folder + "/home", .target = home, .writable = true, .late = true},
        {.source = folder + "/tmp", .target = "/tmp", .writable = true, .late = true},
        {.source = folder + "/var-tmp", .target = "/var/tmp", .writable = true, .late = true},
        {.source = folder + "/run", .target = "/run", .writable = true, .late = true},
        {.source = folder + "/machine-id", .target = "/etc/machine-id", .late = true},
    };
}

std::vector<Bind> trust_binds(const PlanInput& input)
{
    const auto folder = input.folder + '/' + certificates_folder;
    std::vector<Bind> binds{
        {.source = folder, .target = std::string(inner_certificates), .late = true}};
    if (!input.bundle.empty()) {
        binds.push_back({.source = folder + '/' + sandbox::all_authorities_file,
                         .target = input.bundle,
                         .late = true});
    }
    return binds;
}

std::vector<Bind> user_binds(const PlanInput& input)
{
    std::vector<Bind> binds;
    binds.reserve(input.spec.mounts.size());
    for (const auto& mount : input.spec.mounts) {
        binds.push_back({.source = mount.source,
                         .target = mount.target,
                         .writable = mount.writable,
                         // An ordinary user's sandbox has that user's own uid.
                         .id_mapped = mount.writable && input.privileged});
        if (const auto found = input.sources.find(mount.source); found != input.sources.end()) {
            binds.back().source_device = found->second.first;
            binds.back().source_number = found->second.second;
        }
    }
    // A folder before what lies in it, however they were given: it would hide that.
    std::sort(binds.begin(), binds.end(),
              [](const Bind& a, const Bind& b) { return a.target < b.target; });
    return binds;
}

CgroupSpec cgroup_spec(const CgroupLayout& layout, const sandbox::Limits& limits)
{
    CgroupSpec spec;
    spec.v2_base = layout.v2_base;
    spec.v2_controllers = layout.v2_controllers;
    spec.v2_io = layout.v2_io;
    spec.new_namespace = layout.namespace_fits;
    spec.v1 = layout.v1;
    spec.memory = limits.memory;
    spec.guest_memory = guest_memory;
    spec.pids = limits.pids;
    spec.cpu_quota = cgroup::cpu_quota(limits.cpus);
    return spec;
}

protocol::GuestConfig guest_config(const PlanInput& input)
{
    const auto& spec = input.spec;
    auto config = sandbox::config_for_guest(spec);
    config.home = inner_home;
    config.user = inner_user;
    config.writable_roots = {"/tmp"};
    for (const auto& mount : spec.mounts) {
        (mount.writable ? config.writable_roots : config.read_only_mounts).push_back(mount.target);
        config.refuse_setid = config.refuse_setid || mount.writable;
    }
    config.environment = command_environment(spec.environment, spec.network, input.opens_tls);
    config.spill_directory = "/var/tmp/berth";
    // The kernel counts these per user namespace: the host's processes of the same uid do not
    // count.
    (input.cgroups.limits_pids() ? config.limit_pids : config.limit_nproc) = spec.limits.pids;
    return config;
}

std::vector<SymbolicLink> device_links()
{
    return {{"/dev/ptmx", "pts/ptmx"},
            {"/dev/fd", "/proc/self/fd"},
            {"/dev/stdin", "/proc/self/fd/0"},
            {"/dev/stdout", "/proc/self/fd/1"},
            {"/dev/stderr", "/proc/self/fd/2"}};
}

/// Of a template's /etc that may be.
bool shows(const HostFiles& host, const std::string& path)
{
    return std::any_of(host.binds.begin(), host.binds.end(),
                       [&](const Bind& bind) { return bind.target == path; }) ||
           std::any_of(host.links.begin(), host.links.end(),
                       [&](const SymbolicLink& link) { return link.path == path; });
}

Surroundings surroundings_of(sandbox::Network network)
{
    return {.own_network = network != sandbox::Network::host,
            .host_name = std::string(inner_host_name)};
}

std::uint64_t shm_size_of(const sandbox::Limits& limits)
{
    return limits.memory / 2;
}

} // namespace

RootParts base_parts(const HostFiles& host, sandbox::Network network,
                     const std::string& resolv_conf, const std::vector<Cover>& hidden)
{
    RootParts parts;
    // The places of what is each machine's own, too: its root may be one that takes no new ones.
    parts.directories = {
        "/mnt", "/srv",     "/root", "/dev/empty",           "/dev/pts", "/dev/shm", "/proc",
        "/tmp", "/var/tmp", "/run",  std::string(inner_home)};
    if (network == sandbox::Network::filtered) {
        parts.directories.emplace_back(inner_certificates);
    }
    parts.binds = host.binds;
    parts.files = generated_etc_files(network, resolv_conf);
    append(parts.files, substitute_programs());
    if (network == sandbox::Network::filtered) {
        parts.files.push_back(tunnel_program());
    }
    parts.links = host.links;
    append(parts.links, device_links());
    for (auto& link : generated_etc_links(host.localtime_target)) {
        if (!shows(host, link.path)) {
            parts.links.push_back(std::move(link));
        }
    }
    parts.hidden = hidden;
    return parts;
}

Ahead make_ahead(const HostFiles& host, const Expected& expected, const CgroupLayout& cgroups)
{
    return {.base = protocol::encode(
                base_parts(host, expected.network, expected.resolv_conf, expected.hidden)),
            .surroundings = surroundings_of(expected.network),
            .cgroup = cgroup_spec(cgroups, expected.limits),
            .sockets = {},
            .shm_size = shm_size_of(expected.limits)};
}

LaunchSpec make_plan(const PlanInput& input)
{
    const auto& spec = input.spec;
    LaunchSpec plan;
    plan.privileged = input.privileged;
    plan.host_uid = input.host_uid;
    plan.host_gid = input.host_gid;
    plan.surroundings = input.ahead.surroundings;
    plan.filtered_network = spec.network == sandbox::Network::filtered;
    plan.shm_size = shm_size_of(spec.limits);
    plan.base = input.ahead.base;
    plan.binds = session_binds(input.folder);
    if (input.opens_tls) {
        append(plan.binds, trust_binds(input));
    }
    append(plan.binds, user_binds(input));
    plan.cgroup = cgroup_spec(input.cgroups, input.spec.limits);
    plan.cgroup.name = input.cgroup;
    plan.named_ahead = input.named_ahead;
    plan.socket_path = input.socket_path;
    plan.guest_program = input.guest_program;
    plan.guest = guest_config(input);
    return plan;
}

LaunchSpec make_probe(bool privileged, unsigned host_uid, unsigned host_gid)
{
    LaunchSpec probe;
    probe.probe = true;
    probe.privileged = privileged;
    probe.host_uid = host_uid;
    probe.host_gid = host_gid;
    probe.surroundings = surroundings_of(sandbox::Network::none);
    probe.shm_size = 1U << 20U;
    RootParts parts;
    parts.binds = {
        {.source = "/usr", .target = "/usr", .follow_links = true},
        {.source = "/dev/null", .target = "/dev/null", .follow_links = true, .devices = true}};
    probe.base = protocol::encode(parts);
    return probe;
}

} // namespace berth::local
