#include "sandbox/base/wait_bound.hpp"

#include <utility>

namespace berth {
namespace {

thread_local WaitBound* innermost_bound = nullptr;

} // namespace

WaitBound::WaitBound(std::stop_token stop, const Deadline& until, const Deadline& again) noexcept
    : stop_(std::move(stop)), until_(until), again_(again),
      outer_(std::exchange(innermost_bound, this))
{
}

WaitBound::~WaitBound()
{
    innermost_bound = outer_;
}

WaitBound::Wait WaitBound::within(const Deadline& deadline, const std::stop_token& stop) noexcept
{
    Wait wait{.deadline = deadline, .stop = stop, .again = deadline};
    for (const auto* bound = innermost_bound; bound != nullptr; bound = bound->outer_) {
        wait.deadline = Deadline::earlier(wait.deadline, bound->until_);
        wait.again = Deadline::earlier(wait.again, Deadline::earlier(bound->until_, bound->again_));
        if (!wait.stop.stop_possible()) {
            wait.stop = bound->stop_;
        }
    }
    return wait;
}

} // namespace berth
