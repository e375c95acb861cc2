#include "sandbox/session/late_pace.hpp"

#include <doctest/doctest.h>

#include <chrono>

using berth::session::LatePace;
using namespace std::chrono_literals;

TEST_CASE("looks for what comes late are ever further apart, and have an end")
{
    LatePace pace;
    CHECK_FALSE(pace.next(0));
    auto all = 0s;
    for (const auto wanted : {5s, 10s, 20s, 40s, 80s, 160s}) {
        const auto pause = pace.next(1);
        REQUIRE(pause);
        CHECK(*pause == wanted);
        all += *pause;
    }
    CHECK(all > 5min); // by then the books have let go of it
    CHECK_FALSE(pace.next(1));
    CHECK(pace.next(1) == LatePace::first); // another one
    CHECK_FALSE(pace.next(0));
    CHECK(pace.next(1) == LatePace::first);
}
