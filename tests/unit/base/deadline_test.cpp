#include "sandbox/base/deadline.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <type_traits>

using berth::Deadline;
using namespace std::chrono_literals;

// Of the clocks that do not jump the only one that stands still while the host is suspended.
static_assert(std::is_same_v<Deadline::Clock, std::chrono::steady_clock>);

TEST_CASE("a deadline that is never, over, and far away")
{
    CHECK(Deadline().is_never());
    CHECK_FALSE(Deadline().expired());
    CHECK(Deadline().poll_timeout() == -1);

    CHECK(Deadline::after(0s).expired());
    CHECK(Deadline::after(-1h).expired());
    CHECK(Deadline::after(-1h).poll_timeout() == 0);

    const auto far = Deadline::after(24h * 365);
    CHECK_FALSE(far.is_never());
    CHECK_FALSE(far.expired());
    CHECK(far.poll_timeout() == std::numeric_limits<int>::max());
}

TEST_CASE("the wait for a deadline never ends before it")
{
    const auto soon = Deadline::after(1h + 1ns);
    const int wait = soon.poll_timeout();
    CHECK(wait > 3'000'000);
    CHECK(wait <= 3'600'001);
}

TEST_CASE("the earlier of two deadlines")
{
    const auto soon = Deadline::after(1h);
    const auto late = Deadline::after(24h);
    for (const auto& earlier :
         {Deadline::earlier(soon, late), Deadline::earlier(late, soon),
          Deadline::earlier(soon, Deadline()), Deadline::earlier(Deadline(), soon)}) {
        CHECK_FALSE(earlier.is_never());
        CHECK(earlier.poll_timeout() <= 3'600'000);
    }
    CHECK(Deadline::earlier(Deadline(), Deadline()).is_never());
}
