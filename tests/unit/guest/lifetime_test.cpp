#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/lifetime.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

using berth::BootClock;
using berth::guest::EventLoop;
using berth::guest::Lifetime;
using namespace std::chrono_literals;

namespace {

/// Ends the loop by `unused`.
Lifetime::Options unused_after(
    BootClock::duration idle_end, EventLoop& loop,
    std::function<bool()> in_use = [] { return false; })
{
    return {.idle_end = idle_end, .in_use = std::move(in_use), .unused = [&] { loop.stop(); }};
}

void not_told()
{
    FAIL("nobody outside has asked for its end");
}

} // namespace

TEST_CASE("a use that begins and ends between two looks puts off the end")
{
    EventLoop loop;
    Lifetime lifetime(loop, unused_after(400ms, loop), not_told);
    BootClock::time_point used;
    (void)loop.call_at(BootClock::now() + 220ms, [&] {
        lifetime.used();
        used = BootClock::now();
    });
    loop.run();
    CHECK(BootClock::now() - used >= 400ms);
}

TEST_CASE("what was in use at the last look may have been until this one")
{
    EventLoop loop;
    int looks = 0;
    std::optional<BootClock::time_point> first_unused;
    const auto in_use = [&] {
        if (++looks > 1 && !first_unused) {
            first_unused = BootClock::now();
        }
        return looks <= 1;
    };
    const Lifetime lifetime(loop, unused_after(400ms, loop, in_use), not_told);
    loop.run();
    REQUIRE(first_unused);
    CHECK(BootClock::now() - *first_unused >= 400ms);
}

TEST_CASE("without use it ends after its time, without a time never")
{
    EventLoop loop;
    const auto begin = BootClock::now();
    const Lifetime endless(loop, unused_after(0ms, loop), not_told); // would end it at once
    CHECK(!endless.ends_in());
    const Lifetime lifetime(loop, unused_after(80ms, loop), not_told);
    REQUIRE(lifetime.ends_in());
    CHECK(*lifetime.ends_in() <= 80ms);
    loop.run();
    CHECK(BootClock::now() - begin >= 80ms);
}

TEST_CASE("another time holds from now on, whenever the next look would have been")
{
    EventLoop loop;
    const auto begin = BootClock::now();
    Lifetime lifetime(loop, unused_after(1h, loop), not_told);
    CHECK(lifetime.set_idle_end(80ms));
    CHECK(*lifetime.ends_in() <= 80ms);
    loop.run();
    const auto took = BootClock::now() - begin;
    CHECK(took >= 80ms);
    CHECK(took < 20s); // it would have looked after 30 s
}

TEST_CASE("what never ends for want of use does not begin to, nor the other way round")
{
    EventLoop loop;
    Lifetime endless(loop, unused_after(0ms, loop), not_told);
    CHECK_FALSE(endless.set_idle_end(80ms));
    CHECK_FALSE(endless.ends_in());
    Lifetime lifetime(loop, unused_after(1h, loop), not_told);
    CHECK_FALSE(lifetime.set_idle_end(0ms));
    CHECK(lifetime.ends_in());
}
