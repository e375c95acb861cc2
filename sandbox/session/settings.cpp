#include "sandbox/session/settings.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace berth::session {

std::vector<std::string> differences(const Settings& settings, const Conditions& made)
{
    const auto& wanted = settings.limits;
    const auto& limits = made.limits;
    const std::array<std::pair<std::string_view, bool>, 12> same{{
        {"local.cpus", wanted.cpus == limits.cpus},
        {"local.memory", wanted.memory == limits.memory},
        {"local.nofile", wanted.nofile == limits.nofile},
        {"local.pids", wanted.pids == limits.pids},
        {"mount", settings.mounts == made.mounts},
        {"network", settings.network == made.network},
        {"output.spill_session", wanted.spill_session == limits.spill_session},
        {"output.spill_stream", wanted.spill_stream == limits.spill_stream},
        {"path_policy", settings.path_policy == made.path_policy},
        {"session.calls", wanted.calls == limits.calls},
        {"session.jobs", wanted.jobs == limits.jobs},
        {"session.ttl", settings.ttl == made.ttl},
    }};
    std::vector<std::string> found;
    for (const auto& [key, is_same] : same) {
        if (!is_same && settings.asked.contains(key)) {
            found.emplace_back(key);
        }
    }
    return found;
}

} // namespace berth::session
