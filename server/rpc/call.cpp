#include "server/rpc/call.hpp"

#include <utility>

namespace berth::rpc {

Call::Call(Message message, std::shared_ptr<Sink> answers, std::shared_ptr<Sink> notifications,
           std::function<void()> on_closed)
    : message_(std::move(message)), answers_(std::move(answers)),
      notifications_(std::move(notifications)), on_closed_(std::move(on_closed))
{
}

Call::~Call()
{
    if (state_ == State::open) {
        fail(ProtocolError(internal_error, "the request was dropped without an answer"));
    }
    close();
}

void Call::close() noexcept
{
    std::call_once(closed_, on_closed_);
}

bool Call::answer(std::string text)
{
    const std::lock_guard lock(sending_);
    State expected = State::open;
    if (!state_.compare_exchange_strong(expected, State::answered)) {
        return false;
    }
    // Before the answer: a client may use the slot, or even the id, as soon as it has read it.
    close();
    answers_->send(std::move(text));
    return true;
}

bool Call::reply(const std::string& result)
{
    return answer(result_message(message_.id, result));
}

bool Call::fail(const ProtocolError& error)
{
    return answer(error_message(message_.id, error.code(), error.what(), error.data()));
}

bool Call::notify(const std::string& method, const std::string& params)
{
    const std::unique_lock lock(sending_, std::try_to_lock); // else the answer is being sent
    return lock && state_ == State::open &&
           notifications_->offer(notification_message(method, params));
}

void Call::cancel() noexcept
{
    State expected = State::open;
    state_.compare_exchange_strong(expected, State::cancelled);
    stop_.request_stop();
}

} // namespace berth::rpc
