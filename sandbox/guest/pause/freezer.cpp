#include "sandbox/guest/pause/freezer.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace berth::guest {

Freezer::~Freezer()
{
    loop_.cancel(timer_);
}

void Freezer::freeze(Done done)
{
    done_ = std::move(done);
    step_ = first_step;
    const bool begun = begin();
    give_up_ = Deadline::after(begun ? patience : std::chrono::nanoseconds(0));
    look_in(std::chrono::microseconds(0), begun ? first_looks : 1);
}

/// By the clock and not by an event of a file: epoll may refuse to watch it (max_user_watches is
/// shared with whatever has the guest's uid), and what is idle is frozen at the first look.
void Freezer::look_in(std::chrono::microseconds time, int looks)
{
    timer_ = loop_.call_at(BootClock::now() + time, [this, looks] {
        const bool complete = comes_to_rest(looks);
        if (!complete && !give_up_.expired()) {
            look_in(std::exchange(step_, std::min(step_ * 3 / 2, longest_step)), 1);
            return;
        }
        const Done done = std::exchange(done_, nullptr);
        done(complete);
    });
}

bool Freezer::comes_to_rest(int looks)
{
    const auto until = BootClock::now() + first_look;
    while (!is_at_rest()) {
        if (--looks <= 0 || BootClock::now() >= until) {
            return false;
        }
        std::this_thread::yield(); // what is to come to rest may need this processor for it
    }
    return true;
}

void Freezer::thaw() noexcept
{
    loop_.cancel(timer_);
    done_ = nullptr;
    undo();
}

} // namespace berth::guest
