#include "sandbox/guest/exec/limit_counts.hpp"

#include "sandbox/guest/exec/cgroup.hpp"

namespace berth::guest {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) noexcept
{
    return now > before ? now - before : 0;
}

} // namespace

LimitCounts LimitCounts::since(const LimitCounts& before) const noexcept
{
    return {.oom_kills = grown(oom_kills, before.oom_kills),
            .refused_processes = grown(refused_processes, before.refused_processes),
            .cpu_periods = grown(cpu_periods, before.cpu_periods),
            .throttled_periods = grown(throttled_periods, before.throttled_periods),
            .throttled_time = grown(throttled_time, before.throttled_time)};
}

LimitCounts limit_counts(const protocol::GuestConfig& config)
{
    constexpr std::uint64_t nanoseconds = 1000;
    LimitCounts counts;
    counts.oom_kills = oom_kills(config.oom_events_fd);
    counts.refused_processes = cgroup_events(config.pids_events_fd, {"max"})[0].value_or(0);
    const auto cpu = cgroup_events(
        config.cpu_stat_fd, {"nr_periods", "nr_throttled", "throttled_usec", "throttled_time"});
    counts.cpu_periods = cpu[0].value_or(0);
    counts.throttled_periods = cpu[1].value_or(0);
    counts.throttled_time = cpu[2].value_or(cpu[3].value_or(0) / nanoseconds); // else v1's
    return counts;
}

void forget_limit_counts(const protocol::GuestConfig& config) noexcept
{
    for (const int fd : {config.oom_events_fd, config.pids_events_fd, config.cpu_stat_fd}) {
        forget_reading(fd);
    }
}

} // namespace berth::guest
