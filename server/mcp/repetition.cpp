#include "server/mcp/repetition.hpp"

#include <algorithm>
#include <utility>

namespace berth::mcp {

Repetition::Moment Repetition::begin(Clock::time_point received)
{
    const std::lock_guard lock(mutex_);
    return {.order = ++begun_, .received = received};
}

/// Whether the sender of a call can have seen the end that the row tells of.
bool Repetition::saw(const Moment& began, const Row& row)
{
    return row.times == 0 || began.received >= row.told_at + reaction;
}

void Repetition::tell(Row& row) const
{
    row.told = begun_;
    row.told_at = now_();
}

std::uint64_t Repetition::noticed(const Row& row)
{
    return row.tries < noticeable ? 0 : row.times;
}

void Repetition::forget(const Digest& call)
{
    std::erase_if(rows_, [&](const Row& row) { return row.call == call; });
}

std::uint64_t Repetition::failed(Moment began, const Identity& call, const Digest& outcome)
{
    Row row{.call = call(), .outcome = outcome};
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& other) { return other.call == row.call; });
    if (found != rows_.end()) {
        if (found->outcome == outcome) {
            row = std::move(*found);
        }
        rows_.erase(found);
    } else if (rows_.size() == remembered) {
        rows_.erase(rows_.begin());
    }
    row.tries += saw(began, row) ? 1U : 0U;
    ++row.times;
    tell(row);
    rows_.push_back(std::move(row));
    return noticed(rows_.back());
}

void Repetition::succeeded(std::string_view tool, const Identity& call)
{
    {
        const std::lock_guard lock(mutex_);
        ended_.reset();
        if (std::none_of(rows_.begin(), rows_.end(),
                         [&](const Row& row) { return row.call.starts_with(tool); })) {
            return;
        }
    }
    const Digest digest = call();
    const std::lock_guard lock(mutex_);
    forget(digest);
}

std::uint64_t Repetition::ended_alike(Moment began, const Identity& call, const Digest& outcome)
{
    Row row{.call = call(), .outcome = outcome};
    const std::lock_guard lock(mutex_);
    forget(row.call); // it ran: no failure
    // The next to begin after the last was known, so nothing came between, nor was it sent before.
    const bool next = ended_ && began.order == ended_->told + 1 && saw(began, *ended_);
    if (next && ended_->call == row.call && ended_->outcome == row.outcome) {
        row = std::move(*ended_);
    }
    ++row.times;
    ++row.tries;
    tell(row);
    ended_ = std::move(row);
    return noticed(*ended_);
}

} // namespace berth::mcp
