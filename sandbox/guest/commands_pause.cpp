#include "sandbox/guest/commands_state.hpp"
#include "sandbox/guest/exec/process_tree.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

// What a pause of the session asks of its commands.

namespace berth::guest {

std::size_t Commands::job_count() const
{
    return state_->job_count();
}

bool Commands::has_delayed() const
{
    return !state_->delayed.empty() || !state_->queue.empty();
}

bool Commands::is_settled() const
{
    return !has_delayed() && std::ranges::all_of(state_->commands, [](const auto& entry) {
        return entry.second->is_settled();
    });
}

void Commands::on_job_end(std::function<void()> ended)
{
    state_->job_ended = std::move(ended);
}

void Commands::hold_clocks()
{
    state_->clock.stop();
    for (const auto& [id, command] : state_->commands) {
        command->hold_deadline();
    }
    if (state_->quota_watch) {
        state_->quota_watch->hold();
    }
}

void Commands::resume_clocks()
{
    state_->clock.go_on();
    for (const auto& [id, command] : state_->commands) {
        command->resume_deadline();
    }
    if (state_->quota_watch) {
        state_->quota_watch->go_on();
    }
}

std::vector<ProcessStat> Commands::processes(bool* unread) const
{
    auto found = descendants(all_processes(unread), {::getpid()});
    std::erase_if(found,
                  [this](const ProcessStat& process) { return state_->is_shim(process.pid); });
    return found;
}

bool Commands::in_cgroups() const noexcept
{
    return state_->cgroups;
}

} // namespace berth::guest
