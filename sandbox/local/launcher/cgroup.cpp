#include "sandbox/local/launcher/cgroup.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/launcher/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "cgroup";
constexpr std::string_view cpu_period = "100000";

void make_directory(const std::string& path, bool may_exist)
{
    require(::mkdir(path.c_str(), 0755) == 0 || (may_exist && errno == EEXIST), step,
            "make cgroup " + path);
}

bool try_write(const std::string& path, std::string_view value)
{
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd &&
           ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

void write(const std::string& path, std::string_view value)
{
    require(try_write(path, value), step, "write " + path);
}

UniqueFd open_file(const std::string& path, int flags)
{
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
    require(fd.valid(), step, "open " + path);
    return fd;
}

void give(const std::string& path, const LaunchSpec& spec)
{
    if (spec.privileged) {
        require(::chown(path.c_str(), spec.host_uid, spec.host_gid) == 0, step, "chown " + path);
    }
}

void enable_controllers(const std::string& path)
{
    for (const std::string_view controller : {"+memory", "+pids", "+cpu"}) {
        try_write(path + "/cgroup.subtree_control", controller);
    }
}

/// The guest searches files for the session, so it may take as much as a command; at least one
/// whole processor, because all calls wait for it.
std::uint64_t guest_quota(const CgroupSpec& spec)
{
    constexpr std::uint64_t whole = 100'000; // of cpu_period
    return std::max(spec.cpu_quota, whole);
}

/// The limits of the commands, on the cgroup they run in.
void set_v2_limits(const std::string& path, const CgroupSpec& spec)
{
    write(path + "/memory.max", std::to_string(spec.memory));
    // Absent where the kernel has no swap accounting; then the host's swap is not limited.
    try_write(path + "/memory.swap.max", "0");
    write(path + "/pids.max", std::to_string(spec.pids));
    try_write(path + "/cpu.max", std::to_string(spec.cpu_quota) + " " + std::string(cpu_period));
}

} // namespace

std::string Cgroups::make_session_directory(const std::string& base, const std::string& name)
{
    make_directory(base + "/berth", /*may_exist=*/true);
    std::string session = base + "/berth/" + name;
    if (::mkdir(session.c_str(), 0755) != 0) {
        // A machine of this very session whose server died half-way: the caller holds the
        // session's lock, so nobody else can be making it.
        require(errno == EEXIST, step, "make cgroup " + session);
        kill_cgroup(session);
        remove_cgroup(session, Deadline::after(std::chrono::seconds(2)));
        make_directory(session, /*may_exist=*/false);
    }
    made_.push_back(session);
    return session;
}

void Cgroups::make_v2(const LaunchSpec& spec)
{
    const auto& cgroup = spec.cgroup;
    if (cgroup.v2_controllers) {
        enable_controllers(cgroup.v2_base);
    }
    const std::string session = make_session_directory(cgroup.v2_base, cgroup.name);
    const std::string commands = session + "/cmds";
    if (cgroup.v2_controllers) {
        enable_controllers(cgroup.v2_base + "/berth");
        enable_controllers(session);
    }
    make_directory(session + "/guest", false);
    make_directory(commands, false);
    run_path_ = commands + "/run";
    if (cgroup.v2_controllers) {
        set_v2_limits(commands, cgroup);
        write(session + "/guest/memory.max", std::to_string(cgroup.guest_memory));
        try_write(session + "/guest/cpu.max",
                  std::to_string(guest_quota(cgroup)) + " " + std::string(cpu_period));
        enable_controllers(commands);
        oom_events_ = open_file(commands + "/memory.events", O_RDONLY);
    }
    // A guest that was taken over could fill the kernel's memory with cgroups.
    write(commands + "/cgroup.max.descendants", "2048");
    make_directory(run_path_, false);
    if (cgroup.v2_controllers) {
        enable_controllers(run_path_);
    }
    // mkdir of a command's cgroup needs `run`; starting a command from guest/ into it needs the
    // cgroup.procs of their common ancestor. No file of a limit is given away.
    give(run_path_, spec);
    give(session + "/cgroup.procs", spec);
    guest_ = UniqueFd(::open((session + "/guest").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    require(guest_.valid(), step, "open " + session + "/guest");
}

void Cgroups::make_v1(const std::string& base, const LaunchSpec& spec)
{
    const auto& cgroup = spec.cgroup;
    const std::string session = make_session_directory(base, cgroup.name);
    const std::string guest = session + "/guest";
    const std::string commands = session + "/cmds";
    make_directory(guest, false);
    make_directory(commands, false);
    if (base == cgroup.v1_memory_base) {
        const auto memory = std::to_string(cgroup.memory);
        write(commands + "/memory.limit_in_bytes", memory);
        // With the two equal there is no swap. Absent without swap accounting.
        try_write(commands + "/memory.memsw.limit_in_bytes", memory);
        try_write(commands + "/memory.swappiness", "0");
        write(guest + "/memory.limit_in_bytes", std::to_string(cgroup.guest_memory));
        oom_events_ = open_file(commands + "/memory.oom_control", O_RDONLY);
    }
    if (base == cgroup.v1_pids_base) {
        write(commands + "/pids.max", std::to_string(cgroup.pids));
    }
    if (base == cgroup.v1_cpu_base) {
        write(commands + "/cpu.cfs_period_us", cpu_period);
        write(commands + "/cpu.cfs_quota_us", std::to_string(cgroup.cpu_quota));
        write(guest + "/cpu.cfs_period_us", cpu_period);
        write(guest + "/cpu.cfs_quota_us", std::to_string(guest_quota(cgroup)));
    }
    guest_tasks_.push_back(open_file(guest + "/tasks", O_WRONLY));
    command_tasks_.push_back(open_file(commands + "/tasks", O_WRONLY));
}

Cgroups::Cgroups(const LaunchSpec& spec)
{
    const auto& cgroup = spec.cgroup;
    try {
        if (!cgroup.v2_base.empty()) {
            make_v2(spec);
        }
        for (const auto& base : {cgroup.v1_memory_base, cgroup.v1_pids_base, cgroup.v1_cpu_base}) {
            const bool done = std::find(made_.begin(), made_.end(),
                                        base + "/berth/" + cgroup.name) != made_.end();
            if (!base.empty() && !done) {
                make_v1(base, spec);
            }
        }
    } catch (...) {
        for (const auto& path : made_) {
            remove_cgroup(path, Deadline::after(std::chrono::seconds(0)));
        }
        throw;
    }
}

Cgroups::~Cgroups()
{
    if (!kept_) {
        for (const auto& path : made_) {
            kill_cgroup(path);
            remove_cgroup(path, Deadline::after(std::chrono::seconds(2)));
        }
    }
}

void Cgroups::keep_commands_with_guest(const CgroupSpec& spec) const
{
    if (spec.v2_controllers) {
        set_v2_limits(made_.front() + "/guest", spec);
    }
}

void Cgroups::join_v1_guest() const
{
    for (const auto& tasks : guest_tasks_) {
        require(::write(tasks.get(), "0", 1) == 1, step, "join the guest's cgroup");
    }
}

} // namespace berth::local
