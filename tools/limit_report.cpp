#include "tools/limit_report.hpp"

#include "tools/render.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools {

void add_limit_hits(nlohmann::json& data, const std::optional<protocol::LimitHits>& hits)
{
    constexpr std::uint64_t microseconds = 1000;
    if (!hits) {
        return;
    }
    if (hits->refused_processes > 0) {
        data["pids_hit"] = {{"count", hits->refused_processes},
                            {"scope", hits->refused_of_command ? "command" : "session"}};
    }
    if (hits->throttled_periods > 0) {
        data["cpu_throttled"] = {{"periods", hits->cpu_periods},
                                 {"throttled_periods", hits->throttled_periods},
                                 {"throttled_ms", hits->throttled_time / microseconds},
                                 {"scope", "session"}};
    }
}

std::string throttled_phrase(const std::optional<protocol::LimitHits>& hits)
{
    // A second of the kernel's periods, of 100 ms each, and most of the time: what anybody waits
    // for, not the burst in which every program starts.
    constexpr std::uint64_t felt = 10;
    if (!hits || hits->throttled_periods < felt ||
        hits->throttled_periods <= hits->cpu_periods / 2) {
        return {};
    }
    return "slowed by the session's limit of processor time (local.cpus): reached in " +
           thousands(hits->throttled_periods) + " of " + thousands(hits->cpu_periods) +
           " periods of 100 ms";
}

} // namespace berth::tools
