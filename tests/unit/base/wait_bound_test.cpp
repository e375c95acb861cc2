#include "sandbox/base/wait_bound.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stop_token>
#include <thread>

using berth::Deadline;
using berth::WaitBound;
using namespace std::chrono_literals;

TEST_CASE("what a thread waits for is bounded by all of its bounds, and no other thread's is")
{
    const auto long_wait = [] { return WaitBound::within(Deadline::after(1h), {}); };
    CHECK(WaitBound::within({}, {}).deadline.is_never());
    const std::stop_source asked;
    {
        const WaitBound outer(asked.get_token(), Deadline::after(1min));
        const WaitBound inner({}, Deadline::after(2min));
        CHECK(long_wait().deadline.poll_timeout() <= 60'000);
        CHECK(long_wait().stop == asked.get_token());
        CHECK(WaitBound::within(Deadline::after(1s), {}).deadline.poll_timeout() <= 1000);
        const std::stop_source own;
        CHECK(WaitBound::within({}, own.get_token()).stop == own.get_token());
        std::jthread([&] { CHECK_FALSE(long_wait().stop.stop_possible()); }).join();
    }
    {
        const WaitBound outer({}, {}, Deadline::after(2s));
        const WaitBound inner({}, Deadline::after(1min));
        CHECK(long_wait().again.poll_timeout() <= 2000);
        CHECK(long_wait().deadline.poll_timeout() > 50'000);
        CHECK(WaitBound::within(Deadline::after(1s), {}).again.poll_timeout() <= 1000);
    }
    CHECK(long_wait().again.poll_timeout() > 60'000);
    CHECK(long_wait().deadline.poll_timeout() > 60'000);
    CHECK_FALSE(long_wait().stop.stop_possible());
}
