#include "sandbox/base/host_time.hpp"

#include <doctest/doctest.h>

using namespace berth;
using namespace std::chrono_literals;

TEST_SUITE("base/host_time")
{
    TEST_CASE("what has passed is counted by the boot's clock, and across a restart not at all")
    {
        const HostTime then{.boot = "a", .up = 100s, .wall = 1000h};
        CHECK(passed_since(then, {.boot = "a", .up = 160s, .wall = 0h}) == 60s);
        CHECK(passed_since(then, {.boot = "a", .up = 160s, .wall = 9000h}) == 60s);
        CHECK(passed_since(then, {.boot = "a", .up = 90s, .wall = 1000h}) == 0s); // read at once
        CHECK_FALSE(passed_since(then, {.boot = "b", .up = 160s, .wall = 1001h}).has_value());
    }

    TEST_CASE("a time is written and read; what is none is not taken for one")
    {
        for (const auto& time : {HostTime::now(), HostTime{"a", -5s, -7h}}) {
            CHECK(host_time_from(to_text(time)) == time);
        }
        CHECK(to_text({"a-b", 5s, 7s}) == "a-b 5 7");
        for (const char* text : {"", " ", "a", "a 5", "a 5 ", " 5 7", "a 5 7 ", "a 5 7 9", "a x 7",
                                 "a 5x 7", "a 5 7x", "a  5 7", "a 99999999999999999999 7"}) {
            CAPTURE(std::string(text));
            CHECK_FALSE(host_time_from(text).has_value());
        }
    }
}
