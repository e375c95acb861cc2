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
    give_up_ = Deadline::after(begin() ? patience : std::chrono::nanoseconds(0));
    look_in(std::chrono::microseconds(0), first_look);
}

/// By the clock and not by an event of a file: epoll may refuse to watch it (max_user_watches is
/// shared with whatever has the guest's uid), and what is idle is frozen at the first look.
void Freezer::look_in(std::chrono::microseconds time, std::chrono::microseconds how_long)
{
    timer_ = loop_.call_at(BootClock::now() + time, [this, how_long] {
        const bool complete = comes_to_rest(how_long);
        if (!complete && !give_up_.expired()) {
            look_in(std::exchange(step_, std::min(step_ * 3 / 2, longest_step)),
                    std::chrono::microseconds(0));
            return;
        }
        const Done done = std::exchange(done_, nullptr);
        done(complete);
    });
}

/// Looks once at least. What is to come to rest may need this processor for it.
bool Freezer::comes_to_rest(std::chrono::microseconds within)
{
    const auto until = BootClock::now() + within;
    while (!is_at_rest()) {
        if (BootClock::now() >= until) {
            return false;
        }
        std::this_thread::yield();
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
