#include "sandbox/guest/pause/controller.hpp"

#include <algorithm>

namespace berth::guest {

using protocol::OnDisconnect;

PauseController::Order PauseController::look(const Load& load, Time now)
{
    const bool was_left = left_;
    notice_clients(load);
    if (left_ && !was_left && policy_.on_disconnect == OnDisconnect::kill) {
        return Order::end;
    }
    if (load.calls != 0 || load.jobs != 0) {
        idle_since_.reset();
    } else if (!idle_since_) {
        idle_since_ = now;
    }
    held_up_ = false;
    if (state_ != State::awake || load.calls != 0) {
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

void PauseController::notice_clients(const Load& load)
{
    looked_ = load.awake;
    if (load.clients != 0) {
        attended_ = true;
        left_ = false;
        alone_since_.reset();
    } else if (attended_ && !alone_since_) {
        alone_since_ = looked_;
    }
    if (alone_since_ && looked_ - *alone_since_ >= leave_grace) {
        attended_ = false;
        left_ = true;
        alone_since_.reset();
    }
}

PauseController::Why PauseController::reason(Time now) const
{
    if (asked_) {
        return Why::asked;
    }
    if (not_before_ && now < *not_before_) {
        return Why::none;
    }
    if (left_ && policy_.on_disconnect == OnDisconnect::now) {
        return Why::left;
    }
    const auto at = pauses_at();
    if (!at || now < *at) {
        return Why::none;
    }
    return left_ ? Why::left : Why::idle;
}

std::optional<PauseController::Time> PauseController::pauses_at() const
{
    if (state_ != State::awake || !idle_since_ || policy_.idle_pause.count() <= 0 ||
        ((left_ || alone_since_) && policy_.on_disconnect == OnDisconnect::keep)) {
        return std::nullopt;
    }
    const Time at = left_ ? *idle_since_ : *idle_since_ + policy_.idle_pause;
    return std::max(at, not_before_.value_or(at));
}

std::optional<PauseController::Time> PauseController::next_look(Time now) const
{
    std::optional<Time> at = held_up_ ? now + settle_step : pauses_at();
    const auto also = [&at](Time other) { at = std::min(at.value_or(other), other); };
    if (alone_since_) {
        also(now + (leave_grace - (looked_ - *alone_since_)));
    }
    if (state_ == State::awake && left_ && policy_.on_disconnect == OnDisconnect::now &&
        not_before_ && now < *not_before_) {
        also(*not_before_);
    }
    return at;
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
    left_ = left_ && policy_.on_disconnect == OnDisconnect::keep;
    not_before_.reset();
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
