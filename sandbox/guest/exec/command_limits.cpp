#include "sandbox/guest/exec/command.hpp"

#include <csignal>
#include <cstdint>
#include <string>

// Which limits a command met while it ran, and whose the count is that says so.

namespace berth::guest {
namespace {

std::string whose(bool own)
{
    return own ? " of this command" : " of this session while the command ran";
}

} // namespace

void Command::tell_limits()
{
    const auto counts = limit_counts(host_.config).since(limits_);
    tell_oom(counts);
    protocol::LimitHits hits;
    tell_refused_processes(counts, hits);
    hits.cpu_periods = counts.cpu_periods;
    hits.throttled_periods = counts.throttled_periods;
    hits.throttled_time = counts.throttled_time;
    if (hits.refused_processes > 0 || hits.throttled_periods > 0) {
        reply_.limit_hits = hits;
    }
}

void Command::tell_oom(const LimitCounts& session)
{
    const auto own = tree_.cgroup() ? tree_.cgroup()->oom_kills() : std::nullopt;
    const std::uint64_t killed = own.value_or(session.oom_kills);
    if (killed == 0) {
        return;
    }
    // A kill that came with a stop is the stop's, whatever the kernel had killed before.
    const bool is_stops = stop_reason_ != StopReason::none && !ended_before_stop_;
    if (reply_.exit_code == 128 + SIGKILL && end_ && !is_stops && (own || !company_)) {
        // The shell itself is rarely the largest: mostly it lives to say that what it ran was
        // killed.
        reply_.fate = protocol::Fate::oom_killed;
        reply_.signal = SIGKILL;
        return;
    }
    // In a pipeline nothing of it shows in the exit code; and of a count of the session's another
    // command may have been meant.
    add_notice("the memory limit was reached: the kernel killed " + std::to_string(killed) +
               (killed == 1 ? " process" : " processes") + whose(own.has_value()));
}

void Command::tell_refused_processes(const LimitCounts& session, protocol::LimitHits& hits)
{
    // Up to Linux 6.10 the kernel counts where it was asked for a process, since then at the cgroup
    // that has the limit: one of the two has it.
    const auto own = tree_.cgroup() ? tree_.cgroup()->refused_processes().value_or(0) : 0;
    const std::uint64_t refused = own != 0 ? own : session.refused_processes;
    if (refused == 0) {
        return;
    }
    hits.refused_processes = refused;
    hits.refused_of_command = own != 0;
    add_notice("the limit of " + std::to_string(host_.config.limit_pids) +
               " processes (local.pids) was reached: the kernel refused " +
               std::to_string(refused) + (refused == 1 ? " new process" : " new processes") +
               whose(own != 0));
}

} // namespace berth::guest
