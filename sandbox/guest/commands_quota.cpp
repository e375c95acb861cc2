#include "sandbox/guest/commands_state.hpp"

#include <algorithm>
#include <utility>

// What session.quota asks of the commands.

namespace berth::guest {

std::vector<QuotaWatch::Writer> Commands::State::writers() const
{
    std::vector<std::shared_ptr<Command>> working;
    std::ranges::copy_if(all(), std::back_inserter(working),
                         [](const auto& command) { return command->is_at_work(); });
    std::ranges::sort(working, {}, [](const auto& command) { return command->started(); });
    std::vector<QuotaWatch::Writer> found;
    found.reserve(working.size());
    for (const auto& command : working) {
        found.push_back({.id = command->id(), .written = command->written()});
    }
    return found;
}

void Commands::State::stop_for_quota(const std::string& id, const std::string& why,
                                     std::function<void()> then)
{
    const auto found = commands.find(id);
    if (found == commands.end() || !found->second->is_at_work()) {
        then();
        return;
    }
    found->second->end_for_quota(why, std::move(then));
}

void Commands::watch_quota(Workers& workers, std::shared_ptr<HomeQuota> quota)
{
    State& state = *state_;
    state.quota_watch = std::make_unique<QuotaWatch>(
        state.host.loop, workers, std::move(quota),
        QuotaWatch::Host{.writers = [&state] { return state.writers(); },
                         .stop =
                             [&state](const std::string& id, const std::string& why,
                                      std::function<void()> then) {
                                 state.stop_for_quota(id, why, std::move(then));
                             }});
}

} // namespace berth::guest
