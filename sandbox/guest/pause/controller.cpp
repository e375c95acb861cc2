#include "sandbox/guest/pause/controller.hpp"

#include <algorithm>

namespace berth::guest {

using protocol::OnDisconnect;

void PauseController::set_policy(const Policy& policy) noexcept
{
    policy_ = policy;
    // Who sets one is a server that comes. Else `now` would freeze the jobs that `keep` has kept
    // running, for the moment until that server is there and calls.
    forget_leaving();
}

PauseController::Order PauseController::look(const Load& load, Time now)
{
    const bool was_left = left_at_.has_value();
    notice_clients(load, now);
    if (left_at_ && !was_left && policy_.on_disconnect == OnDisconnect::kill) {
        return Order::end;
    }
    called_ = load.calls != 0;
    if (called_ || load.jobs != 0) {
        idle_since_.reset();
    } else if (!idle_since_) {
        idle_since_ = now;
    }
    held_up_ = false;
    if (state_ != State::awake || called_) {
        return Order::none;
    }
    const Why why = reason(now);
    if (why == Why::none) {
        return Order::none;
    }
    if (!load.settled) {
        held_up_ = true;
        return Order::none;
    }
    state_ = State::pausing;
    why_ = why;
    return Order::freeze;
}

void PauseController::notice_clients(const Load& load, Time now)
{
    if (load.clients != 0) {
        attended_ = true;
        left_at_.reset();
        alone_since_.reset();
    } else if (attended_ && !alone_since_) {
        alone_since_ = load.awake;
    }
    if (alone_since_ && load.awake - *alone_since_ >= leave_grace) {
        attended_ = false;
        left_at_ = now;
        alone_since_.reset();
    } else if (alone_since_) {
        back_by_ = now + (leave_grace - (load.awake - *alone_since_));
    }
}

PauseController::Why PauseController::reason(Time now) const
{
    if (asked_) {
        return Why::asked;
    }
    const auto at = acts_at();
    if (!at || now < *at) {
        return Why::none;
    }
    return left_at_ ? Why::left : Why::idle;
}

/// By what has happened: a client that may come back has not left.
std::optional<PauseController::Time> PauseController::acts_at() const
{
    if (state_ != State::awake || called_) {
        return std::nullopt;
    }
    const auto at = due();
    return at ? std::max(*at, not_before_.value_or(*at)) : at;
}

std::optional<PauseController::Time> PauseController::pauses_at() const
{
    const auto at = acts_at();
    const auto left = pauses_for_leaving_at();
    return left ? std::min(at.value_or(*left), *left) : at;
}

/// If the client that may come back does not.
std::optional<PauseController::Time> PauseController::pauses_for_leaving_at() const
{
    const bool pauses = policy_.on_disconnect == OnDisconnect::now ||
                        (policy_.on_disconnect == OnDisconnect::idle && idle_since_ &&
                         policy_.idle_pause.count() > 0);
    if (!alone_since_ || !pauses || state_ != State::awake || called_) {
        return std::nullopt;
    }
    return std::max(back_by_, not_before_.value_or(back_by_));
}

std::optional<PauseController::Time> PauseController::ends_at() const
{
    return alone_since_ && policy_.on_disconnect == OnDisconnect::kill ? std::optional(back_by_)
                                                                       : std::nullopt;
}

/// When there is a reason to pause, unless something comes: that it failed lately does not count.
std::optional<PauseController::Time> PauseController::due() const
{
    if (left_at_ && policy_.on_disconnect == OnDisconnect::now) {
        return left_at_;
    }
    const bool deserted = left_at_ || alone_since_;
    if (!idle_since_ || policy_.idle_pause.count() <= 0 ||
        (deserted && (policy_.on_disconnect == OnDisconnect::keep ||
                      policy_.on_disconnect == OnDisconnect::kill))) {
        return std::nullopt;
    }
    return left_at_ ? *idle_since_ : *idle_since_ + policy_.idle_pause;
}

std::optional<PauseController::Time> PauseController::next_look(Time now) const
{
    const std::optional<Time> at = held_up_ ? now + settle_step : acts_at();
    return alone_since_ ? std::min(at.value_or(back_by_), back_by_) : at;
}

PauseController::Order PauseController::call_begins()
{
    asked_ = false;
    idle_since_.reset();
    if (state_ == State::awake) {
        return Order::none;
    }
    wake();
    return Order::thaw;
}

PauseController::Order PauseController::resume(Time now)
{
    const bool sleeps = state_ != State::awake;
    wake();
    if (idle_since_) {
        idle_since_ = now;
    }
    return sleeps ? Order::thaw : Order::none;
}

PauseController::Order PauseController::frozen(bool complete, Time now)
{
    if (state_ != State::pausing) {
        return Order::none;
    }
    asked_ = false;
    if (complete) {
        state_ = State::paused;
        failures_ = 0;
        not_before_.reset();
        return Order::none;
    }
    state_ = State::awake;
    why_ = Why::none;
    const auto wait = std::min<BootClock::duration>(retry_after * (1 << failures_), longest_retry);
    failures_ = std::min(failures_ + 1, 10);
    not_before_ = now + wait;
    return Order::thaw;
}

void PauseController::wake() noexcept
{
    state_ = State::awake;
    why_ = Why::none;
    asked_ = false;
    forget_leaving();
}

void PauseController::forget_leaving() noexcept
{
    if (policy_.on_disconnect == OnDisconnect::keep) {
        return; // until a client is back
    }
    left_at_.reset();
    if (policy_.on_disconnect != OnDisconnect::kill) { // which is due, whoever wakes it
        attended_ = attended_ && !alone_since_;
        alone_since_.reset();
    }
}

std::string_view to_string(PauseController::Why why) noexcept
{
    switch (why) {
    case PauseController::Why::idle:
        return "idle";
    case PauseController::Why::left:
        return "left";
    case PauseController::Why::asked:
        return "asked";
    case PauseController::Why::none:
        break;
    }
    return "";
}

} // namespace berth::guest
