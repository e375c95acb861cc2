#include "sandbox/turns.hpp"

#include "sandbox/base/error.hpp"

#include <condition_variable>

namespace berth::sandbox {

struct Turns::Waiter {
    std::condition_variable_any changed;
    bool admitted = false;
};

Turns::Turn Turns::enter(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    if (free_ > 0) {
        --free_;
        return Turn(*this);
    }
    Waiter waiter;
    const auto place = waiting_.insert(waiting_.end(), &waiter);
    if (!waiter.changed.wait(lock, stop, [&] { return waiter.admitted; })) {
        waiting_.erase(place);
        throw Error(ErrorCode::cancelled, "the call was cancelled before it began",
                    "Nothing of it was done: call again if it is still wanted.");
    }
    return Turn(*this);
}

std::size_t Turns::waiting() const
{
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

void Turns::leave() noexcept
{
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
        ++free_;
        return;
    }
    // The place is handed over: a newcomer cannot take it from the one that has waited longest.
    auto& next = *waiting_.front();
    waiting_.pop_front();
    next.admitted = true;
    next.changed.notify_one();
}

} // namespace berth::sandbox
