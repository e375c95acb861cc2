#include "sandbox/local/launcher/exec.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/release_memory.hpp"
#include "sandbox/guest/guest.hpp"
#include "sandbox/guest/heap.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/fresh_stack.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "guest";
constexpr const char* guest_name = "berth-guest";

void stay_open(int fd)
{
    if (fd >= 0) {
        require(::fcntl(fd, F_SETFD, 0) == 0, step, "keep a descriptor over the exec");
    }
}

/// `handover`: of its lists nothing is left.
protocol::GuestConfig complete(ChildSetup& setup, Handover& handover)
{
    protocol::GuestConfig config = std::move(setup.spec.guest);
    config.listen_fd = handover.listen.get();
    config.ready_fd = setup.ready_fd;
    config.lifetime_fd = setup.lifetime_fd;
    config.denials_fd = setup.proxy_fd;
    config.parting_fd = handover.parting.get();
    config.commands_cgroup_fd = handover.run_cgroup.get();
    config.limits_by_cgroup = config.commands_cgroup_fd >= 0 && setup.spec.cgroup.v2_controllers;
    config.v1_freezer_fd = handover.freezer.get();
    config.v1_tasks_fds.clear();
    for (auto& tasks : handover.command_tasks) {
        config.v1_tasks_fds.push_back(tasks.release());
    }
    release_memory(handover.command_tasks);
    release_memory(handover.guest_tasks);
    release_memory(handover.mounts);
    config.oom_events_fd = handover.oom_events.get();
    config.pids_events_fd = handover.pids_events.get();
    config.cpu_stat_fd = handover.cpu_stat.get();
    config.quota_by_kernel = handover.home_limited;
    return config;
}

void keep_only(const protocol::GuestConfig& config, int config_fd)
{
    // First everything is marked, then what is named is spared: a descriptor that was forgotten
    // here would be a way out of the sandbox.
    require(::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0, step, "close_range");
    for (const int fd :
         {config.listen_fd, config.ready_fd, config.lifetime_fd, config.commands_cgroup_fd,
          config.v1_freezer_fd, config.oom_events_fd, config.pids_events_fd, config.cpu_stat_fd,
          config.parting_fd, config.denials_fd, config_fd}) {
        stay_open(fd);
    }
    for (const int fd : config.v1_tasks_fds) {
        stay_open(fd);
    }
}

void replace_standard_streams()
{
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    require(null.valid(), step, "open /dev/null");
    for (int fd = 0; fd <= 2; ++fd) {
        require(::dup2(null.get(), fd) == fd, step, "dup2");
    }
}

void exec_guest(const ChildSetup& setup, const protocol::GuestConfig& config)
{
    const UniqueFd config_fd = make_memory_file("berth-config", protocol::encode(config));
    keep_only(config, config_fd.get());
    std::string name = guest_name;
    std::string option = "--config-fd";
    std::string number = std::to_string(config_fd.get());
    char* const arguments[] = {name.data(), option.data(), number.data(), nullptr};
    char* const environment[] = {nullptr};
    ::execveat(setup.program.get(), "", arguments, environment, AT_EMPTY_PATH);
    throw Failure(step, errno, "start " + setup.spec.guest_program);
}

/// What is left of a launcher when it becomes the guest.
struct Start {
    std::string config; ///< encoded, without:
    std::string token;
};

void wipe(std::string& secret)
{
    ::explicit_bzero(secret.data(), secret.size());
    release_memory(secret);
}

/// Not inlined: its frame would be below the guest's for ever.
[[gnu::noinline]] protocol::GuestConfig config_of(Start* given)
{
    const std::unique_ptr<Start> start(given);
    auto config = protocol::decode<protocol::GuestConfig>(start->config);
    config.token = start->token;
    wipe(start->token);
    return config;
}

[[noreturn]] void start_guest(void* start)
{
    guest::run(config_of(static_cast<Start*>(start)));
}

} // namespace

void become_guest(ChildSetup& setup, Handover& handover)
{
    protocol::GuestConfig config = complete(setup, handover);
    replace_standard_streams();
    if (!setup.spec.become_guest) {
        exec_guest(setup, config);
    }
    // What the launcher has in memory would be the guest's for as long as that lives, and of no use
    // to it; and what the guest has from the launcher would lie between what that had.
    auto start = std::make_unique<Start>();
    start->token = config.token; // a copy in the encoded config could not be found to be wiped
    wipe(config.token);
    start->config = protocol::encode(config);
    release_memory(config);
    release_memory(setup.spec);
    release_memory(setup.trees);
    release_memory(setup.base);
    release_memory(setup.base_trees);
    release_memory(setup.filter);
    release_memory(setup.processors);
    if (setup.forget_launchers) {
        setup.forget_launchers();
    }
    guest::give_back_freed_memory();
    setup.process_name.show(guest_name);
    // As after an exec: until the guest itself takes it back its own files in /proc are its own.
    require(::prctl(PR_SET_DUMPABLE, 1) == 0, step, "PR_SET_DUMPABLE");
    run_on_fresh_stack(start_guest, start.release());
}

} // namespace berth::local
