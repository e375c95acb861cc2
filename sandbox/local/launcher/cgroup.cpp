#include "sandbox/local/launcher/cgroup.hpp"

#include "sandbox/local/cgroup_files.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {

using cgroup::make_directory;
using cgroup::open_file;
using cgroup::try_write;
using cgroup::write;

namespace {

void give(const std::string& path, const LaunchSpec& spec)
{
    if (spec.privileged) {
        require(::chown(path.c_str(), spec.host_uid, spec.host_gid) == 0, "cgroup",
                "chown " + path);
    }
}

/// `io`: with that of the disk.
void enable_controllers(const std::string& path, bool io = false)
{
    const std::string file = path + "/cgroup.subtree_control";
    if (try_write(file, io ? "+memory +pids +cpu +io" : "+memory +pids +cpu")) {
        return;
    }
    for (const std::string_view controller : {"+memory", "+pids", "+cpu"}) {
        try_write(file, controller);
    }
}

std::string cpu_max(std::uint64_t quota)
{
    return std::to_string(quota) + " " + std::string(cgroup::cpu_period);
}

void remove(const std::string& session) noexcept
{
    kill_cgroup(session);
    remove_cgroup(session, Deadline::after(std::chrono::seconds(2)));
    remove_abandoned(session.substr(0, session.rfind('/')));
}

} // namespace

Cgroups::Cgroups(CgroupSpec spec) : spec_(std::move(spec))
{
    if (spec_.v2_base.empty()) {
        return;
    }
    try {
        make_guest();
    } catch (...) {
        remove(session_);
        throw;
    }
}

Cgroups::~Cgroups()
{
    if (!kept_ && !session_.empty()) {
        remove(session_);
    }
}

/// The limits of the commands, on the cgroup they run in.
void Cgroups::set_limits(const std::string& path)
{
    write(path + "/memory.max", std::to_string(spec_.memory));
    // Absent where the kernel has no swap accounting; then the host's swap is not limited.
    try_write(path + "/memory.swap.max", "0");
    write(path + "/pids.max", std::to_string(spec_.pids));
    limit_cpu(path, spec_.cpu_quota);
}

void Cgroups::limit_cpu(const std::string& path, std::uint64_t quota)
{
    if (!try_write(path + "/cpu.max", cpu_max(quota)) && missing_.empty()) {
        missing_.emplace_back("cgroup-cpu");
    }
}

void Cgroups::limit_guest()
{
    if (spec_.v2_controllers) {
        const std::string guest = session_ + "/guest";
        write(guest + "/memory.max", std::to_string(spec_.guest_memory));
        limit_cpu(guest, cgroup::guest_quota(spec_.cpu_quota));
        try_write(session_ + "/cpu.weight", std::to_string(cgroup::cpu_weight(spec_.cpu_quota)));
        if (spec_.v2_io) {
            cgroup::weigh_disk(session_, spec_.cpu_quota);
        }
    }
}

void Cgroups::limit(const CgroupSpec& other)
{
    spec_ = other;
    if (!session_.empty() && spec_.v2_controllers) {
        limit_guest();
        set_limits(session_ + "/cmds");
    }
}

void Cgroups::make_guest()
{
    if (spec_.v2_controllers) {
        enable_controllers(spec_.v2_base, spec_.v2_io);
    }
    session_ = cgroup::make_session_directory(spec_.v2_base, spec_);
    const std::string guest = session_ + "/guest";
    if (spec_.v2_controllers) {
        enable_controllers(spec_.v2_base + "/berth", spec_.v2_io);
        enable_controllers(session_);
    }
    make_directory(guest);
    limit_guest();
    guest_ = open_file(guest, O_PATH | O_DIRECTORY);
}

Handover Cgroups::make_for_commands()
{
    Handover made;
    if (session_.empty()) {
        return made;
    }
    const std::string commands = session_ + "/cmds";
    const std::string run = run_cgroup_path(spec_);
    make_directory(commands);
    if (spec_.v2_controllers) {
        set_limits(commands);
        enable_controllers(commands);
        made.oom_events = open_file(commands + "/memory.events", O_RDONLY);
        made.pids_events = open_file(commands + "/pids.events", O_RDONLY);
        made.cpu_stat = open_file(commands + "/cpu.stat", O_RDONLY);
    }
    // A guest that was taken over could fill the kernel's memory with cgroups.
    write(commands + "/cgroup.max.descendants", "2048");
    make_directory(run);
    if (spec_.v2_controllers) {
        enable_controllers(run);
    }
    return made;
}

UniqueFd Cgroups::give_run(const LaunchSpec& spec)
{
    if (session_.empty()) {
        return {};
    }
    const std::string run = run_cgroup_path(spec_);
    // mkdir of a command's cgroup needs `run`; starting a command from guest/ into it needs the
    // cgroup.procs of their common ancestor. No file of a limit is given away.
    give(run, spec);
    give(session_ + "/cgroup.procs", spec);
    // Pausing the session is the guest's to decide, and to give its memory back then. Linux before
    // 5.2 cannot freeze here, before 5.19 not be asked for memory, on v1 never.
    for (const char* name : {"/cgroup.freeze", "/memory.reclaim"}) {
        if (const auto file = run + name; ::access(file.c_str(), F_OK) == 0) {
            give(file, spec);
        }
    }
    return spec.privileged ? clone_directory(run) : UniqueFd();
}

void Cgroups::keep_commands_with_guest()
{
    if (spec_.v2_controllers) {
        set_limits(session_ + "/guest");
    }
}

std::string run_cgroup_path(const CgroupSpec& spec)
{
    return spec.v2_base.empty() ? "" : cgroup::session_path(spec.v2_base, spec) + "/cmds/run";
}

} // namespace berth::local
