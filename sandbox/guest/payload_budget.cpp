#include "sandbox/guest/payload_budget.hpp"

#include "sandbox/protocol/messages.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

/// How often a request is in memory at its worst: as it came and decoded; an edit's texts are
/// adapted to the file and kept until it is written, too.
std::size_t copies(std::uint16_t operation) noexcept
{
    using protocol::Operation;
    const bool edits = operation == static_cast<std::uint16_t>(Operation::edit_file) ||
                       operation == static_cast<std::uint16_t>(Operation::patch_files);
    return edits ? 4 : 2;
}

} // namespace

PayloadBudget::Ticket::Ticket(std::shared_ptr<State> state, std::size_t bytes,
                              EventLoop::Task granted)
    : state_(std::move(state)), bytes_(bytes), tell_(std::move(granted))
{
}

PayloadBudget::Ticket::~Ticket()
{
    state_->give_back(granted_ ? bytes_ : 0); // in any case others may be the first now
}

void PayloadBudget::State::give_back(std::size_t bytes)
{
    const std::lock_guard lock(mutex);
    left += bytes;
    if (loop != nullptr && !waiting.empty()) {
        loop->post([self = shared_from_this()] { self->admit(); });
    }
}

std::shared_ptr<PayloadBudget::Ticket> PayloadBudget::State::next()
{
    std::shared_ptr<Ticket> ticket; // outlives the lock: its end may take it
    const std::lock_guard lock(mutex);
    while (!waiting.empty()) {
        ticket = waiting.front().lock();
        if (ticket && ticket->bytes_ > left) {
            return nullptr;
        }
        waiting.pop_front();
        if (ticket) {
            left -= ticket->bytes_;
            ticket->granted_ = true;
            return ticket;
        }
    }
    return nullptr;
}

void PayloadBudget::State::admit()
{
    while (const auto ticket = next()) {
        ticket->tell_();
    }
}

PayloadBudget::PayloadBudget(EventLoop& loop, const Limits& limits)
    : state_(std::make_shared<State>()), patience_(limits.patience)
{
    state_->loop = &loop;
    state_->room = limits.room;
    state_->left = limits.room;
}

PayloadBudget::~PayloadBudget()
{
    const std::lock_guard lock(state_->mutex);
    state_->loop = nullptr;
}

std::shared_ptr<PayloadBudget::Ticket> PayloadBudget::ask(std::uint16_t operation, std::size_t size,
                                                          EventLoop::Task granted)
{
    const std::size_t bytes = std::min(size * copies(operation), state_->room);
    auto ticket = std::make_shared<Ticket>(state_, bytes, std::move(granted));
    const std::lock_guard lock(state_->mutex);
    if (state_->waiting.empty() && bytes <= state_->left) {
        state_->left -= bytes;
        ticket->granted_ = true;
    } else {
        state_->waiting.push_back(ticket);
    }
    return ticket;
}

} // namespace berth::guest
