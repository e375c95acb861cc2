#include "sandbox/local/cgroup_v1.hpp"

#include "sandbox/local/cgroup_files.hpp"

#include <string>

#include <fcntl.h>

namespace berth::local {

using cgroup::open_file;
using cgroup::try_write;
using cgroup::write;

namespace {

void limit(const std::string& base, const CgroupSpec& spec)
{
    const std::string session = cgroup::session_path(base, spec);
    const std::string guest = session + "/guest";
    const std::string commands = session + "/cmds";
    if (base == spec.v1.memory) {
        const auto memory = std::to_string(spec.memory);
        // The one of memory alone may not be above the other, which is there first.
        if (!try_write(commands + "/memory.limit_in_bytes", memory)) {
            try_write(commands + "/memory.memsw.limit_in_bytes", memory);
            write(commands + "/memory.limit_in_bytes", memory);
        }
        // With the two equal there is no swap. Absent without swap accounting. Each file that is
        // opened stays cached, which is 0.8 kB of every session.
        if (!try_write(commands + "/memory.memsw.limit_in_bytes", memory)) {
            try_write(commands + "/memory.swappiness", "0");
        }
        // What sockets of TCP hold is counted apart, and without a limit not at all.
        try_write(commands + "/memory.kmem.tcp.limit_in_bytes", memory);
        write(guest + "/memory.limit_in_bytes", std::to_string(spec.guest_memory));
    }
    if (base == spec.v1.pids) {
        write(commands + "/pids.max", std::to_string(spec.pids));
    }
    if (base == spec.v1.cpu) {
        // Of the kernel's own period, which is cpu_period; each file that is opened stays cached.
        write(session + "/cpu.shares", std::to_string(cgroup::cpu_shares(spec.cpu_quota)));
        write(commands + "/cpu.cfs_quota_us", std::to_string(spec.cpu_quota));
        write(guest + "/cpu.cfs_quota_us", std::to_string(cgroup::guest_quota(spec.cpu_quota)));
    }
}

void make(const std::string& base, const CgroupSpec& spec, Handover& files)
{
    const std::string session = cgroup::make_session_directory(base, spec);
    const std::string guest = session + "/guest";
    const std::string commands = session + "/cmds";
    cgroup::make_directory(guest);
    cgroup::make_directory(commands);
    limit(base, spec);
    if (base == spec.v1.memory) {
        files.oom_events = open_file(commands + "/memory.oom_control", O_RDONLY);
    }
    if (base == spec.v1.pids) {
        files.pids_events = open_file(commands + "/pids.events", O_RDONLY);
    }
    if (base == spec.v1.cpu) {
        files.cpu_stat = open_file(commands + "/cpu.stat", O_RDONLY);
    }
    if (base == spec.v1.freezer) {
        files.freezer = open_file(commands + "/freezer.state", O_RDWR);
    }
    files.guest_tasks.push_back(open_file(guest + "/tasks", O_WRONLY));
    files.command_tasks.push_back(open_file(commands + "/tasks", O_WRONLY));
}

} // namespace

Handover make_v1_cgroups(const CgroupSpec& spec, V1Share share)
{
    Handover files;
    const auto bases = spec.v1.directories();
    const bool two = bases.size() > 1;
    for (const auto& base : bases) {
        const bool launchers = two && base == *bases.rbegin();
        if (share == V1Share::all || launchers == (share == V1Share::launcher)) {
            make(base, spec, files);
        }
    }
    return files;
}

void limit_v1_cgroups(const CgroupSpec& spec)
{
    for (const auto& base : spec.v1.directories()) {
        limit(base, spec);
    }
}

} // namespace berth::local
