#include "sandbox/session/kept_time.hpp"

#include <doctest/doctest.h>

using namespace berth;
using namespace std::chrono_literals;
using session::count_until;
using session::KeptTime;

namespace {

constexpr std::chrono::seconds day = 24h;
constexpr std::chrono::seconds most = 12h;

HostTime at(const char* boot, std::chrono::seconds up, std::chrono::seconds wall)
{
    return {.boot = boot, .up = up, .wall = wall};
}

} // namespace

TEST_SUITE("session/kept_time")
{
    TEST_CASE("within one boot the wall clock does not count")
    {
        const KeptTime start{.seen = at("a", 100s, 1000 * day), .counted = 5s};
        for (const auto wall : {0s, 1000 * day, 1001 * day, 999 * day, 9000 * day}) {
            const auto later = count_until(start, at("a", 100s + 2 * day, wall), most);
            CHECK(later.counted == 5s + 2 * day);
            CHECK(later.seen == at("a", 100s + 2 * day, wall));
        }
    }

    TEST_CASE("a restart counts for as long as the wall clock says, but for so much at most")
    {
        const KeptTime start{.seen = at("a", 50 * day, 1000 * day), .counted = 1h};
        const auto counted = [&](std::chrono::seconds wall) {
            return count_until(start, at("b", 10s, wall), most).counted;
        };
        CHECK(counted(1000 * day + 3h) == 4h);
        CHECK(counted(1000 * day + 12h) == 13h);
        CHECK(counted(1001 * day) == 13h);
        CHECK(counted(9000 * day) == 13h);
        CHECK(counted(999 * day) == 1h); // a clock that went back makes nothing younger
        CHECK(counted(0s) == 1h);
    }

    TEST_CASE("what was counted is counted once")
    {
        KeptTime kept{.seen = at("a", 0s, 0s), .counted = 0s};
        kept = count_until(kept, at("a", 1h, 1h), most);
        kept = count_until(kept, at("a", 1h, 5h), most);
        CHECK(kept.counted == 1h);
        kept = count_until(kept, at("b", 2h, 6h), most);
        kept = count_until(kept, at("b", 3h, 70h), most);
        CHECK(kept.counted == 3h);
        kept = count_until(kept, at("b", 2h, 70h), most); // two that read the clock at once
        CHECK(kept.counted == 3h);
    }
}
