#include "sandbox/guest/commands_state.hpp"

#include <algorithm>
#include <utility>

// Who knows how a command ended: what nobody was told of, and who is about to tell it.

namespace berth::guest {

template <class Visit>
void Commands::State::for_outcomes(const Visit& visit)
{
    for (const auto& [id, command] : commands) {
        visit(command->outcome(), !command->is_job());
    }
    for (auto& job : ended) {
        visit(job.outcome, true);
    }
}

void Commands::State::seen(const std::string& job_id, const std::string& server)
{
    if (const auto command = find_job(job_id)) {
        command->outcome().known_to(server);
    }
    for (auto& job : ended) {
        if (job.state.job_id == job_id) {
            job.outcome.known_to(server);
        }
    }
}

void Commands::State::read_end(const std::string& job_id)
{
    if (const auto command = find_job(job_id)) {
        command->outcome().set_read();
    }
    for (auto& job : ended) {
        if (job.state.job_id == job_id) {
            job.outcome.set_read();
        }
    }
}

bool Commands::State::tells_end(const protocol::JobState& job, bool acknowledges)
{
    if (!job.running && !acknowledges) {
        read_end(job.job_id);
    }
    return !job.running && acknowledges;
}

bool Commands::State::has_unseen() const noexcept
{
    return forgotten.untold() > 0 ||
           std::ranges::any_of(ended,
                               [](const EndedJob& job) { return job.outcome.unseen().is_set(); }) ||
           std::ranges::any_of(
               commands, [](const auto& each) { return each.second->outcome().unseen().is_set(); });
}

std::vector<std::string> Commands::State::untold_ends()
{
    std::vector<std::string> ids;
    const auto look = [&](const Outcome& outcome, const std::string& job_id) {
        if (!outcome.unseen().is_known() || outcome.is_expected(/*over=*/true)) {
            ids.push_back(job_id);
        }
    };
    for (const auto& [id, command] : commands) {
        if (command->was_job() && !command->is_job()) {
            look(command->outcome(), command->job_id());
        }
    }
    for (const auto& job : ended) {
        look(job.outcome, job.state.job_id);
    }
    return ids;
}

void Commands::State::shown(const std::vector<std::string>& job_ids)
{
    const auto is_one = [&](const std::string& id) {
        return std::ranges::find(job_ids, id) != job_ids.end();
    };
    for (const auto& [id, command] : commands) {
        if (command->was_job() && is_one(command->job_id())) {
            command->outcome().shown();
        }
    }
    for (auto& job : ended) {
        if (is_one(job.state.job_id)) {
            job.outcome.shown();
        }
    }
}

/// What is lent is another's to tell.
void Commands::State::seen_all()
{
    for_outcomes([](Outcome& outcome, bool over) { outcome.tell_marked(over); });
    forgotten.clear();
}

UnseenMark::Claim Commands::State::lend_unseen()
{
    const auto claim = last_claim + 1;
    for_outcomes([&](Outcome& outcome, bool over) {
        if (outcome.lend(claim, over)) {
            last_claim = claim;
        }
    });
    if (forgotten.lend(claim)) {
        last_claim = claim;
    }
    return last_claim == claim ? claim : 0;
}

void Commands::State::settle_claim(UnseenMark::Claim claim, bool told, const std::string& server)
{
    for_outcomes([&](Outcome& outcome, bool /*over*/) { outcome.settle(claim, told, server); });
    forgotten.settle(claim, told);
    if (!told && has_unseen()) {
        host.left_unseen();
    }
}

/// Of a command that is no job its call tells, or detach().
void Commands::State::leave(const std::function<bool(const std::string& server)>& is_here)
{
    bool any = false;
    const auto look = [&](Outcome& outcome, bool over) {
        if (!outcome.keeper().empty() && !is_here(outcome.keeper())) {
            any = outcome.leave(over) || any;
        }
    };
    for (const auto& [id, command] : commands) {
        if (command->was_job()) {
            look(command->outcome(), !command->is_job());
        }
    }
    for (auto& job : ended) {
        look(job.outcome, true);
    }
    any = forgotten.leave(is_here) || any;
    if (any) {
        host.left_unseen();
    }
}

std::vector<std::string> Commands::untold_ends()
{
    return state_->untold_ends();
}

void Commands::shown(const std::vector<std::string>& job_ids)
{
    state_->shown(job_ids);
}

void Commands::read_end(const std::string& job_id)
{
    state_->read_end(job_id);
}

void Commands::seen_all()
{
    state_->seen_all();
}

bool Commands::has_unseen() const noexcept
{
    return state_->has_unseen();
}

std::uint64_t Commands::lend_unseen()
{
    return state_->lend_unseen();
}

void Commands::settle_claim(std::uint64_t claim, bool told, const std::string& server)
{
    state_->settle_claim(claim, told, server);
}

std::uint32_t Commands::forgotten_unseen() const noexcept
{
    return state_->forgotten.untold();
}

std::uint32_t Commands::forgotten_expected() const noexcept
{
    return state_->forgotten.expected();
}

std::uint32_t Commands::forgotten_lent() const noexcept
{
    return state_->forgotten.lent();
}

void Commands::leave(const std::function<bool(const std::string& server)>& is_here)
{
    state_->leave(is_here);
}

void Commands::on_left_unseen(std::function<void()> unseen)
{
    state_->left_unseen = std::move(unseen);
}

bool Commands::has_unread() const
{
    const auto ended = ended_jobs();
    return std::ranges::any_of(ended, &protocol::JobEntry::unread);
}

} // namespace berth::guest
