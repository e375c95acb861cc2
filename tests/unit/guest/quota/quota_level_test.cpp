#include "sandbox/guest/quota/quota_level.hpp"

#include <doctest/doctest.h>

#include <optional>

using berth::guest::QuotaLevel;
using Verdict = berth::guest::QuotaLevel::Verdict;

namespace {

constexpr std::uint64_t limit = 100 * QuotaLevel::slack;

} // namespace

TEST_CASE("below its limit a home may grow, and not above it")
{
    QuotaLevel level(limit);
    level.begin(0);
    CHECK(level.judge(1) == Verdict::fine);
    CHECK(level.judge(limit) == Verdict::fine);
    CHECK(level.judge(limit + 1) == Verdict::doubtful);
    CHECK(level.judge(limit + 1) == Verdict::exceeded);
    CHECK(level.judge(limit) == Verdict::fine);
    CHECK(level.judge(limit + 1) == Verdict::doubtful);
}

TEST_CASE("a home above its limit may shrink, and not grow again")
{
    QuotaLevel level(limit);
    SUBCASE("known before the commands")
    {
        level.begin(3 * limit);
    }
    SUBCASE("found by the first count")
    {
        level.begin(std::nullopt);
        CHECK(level.judge(3 * limit) == Verdict::fine);
    }
    CHECK(level.judge(3 * limit + QuotaLevel::slack) == Verdict::fine);
    CHECK(level.judge(2 * limit) == Verdict::fine);
    CHECK(level.judge(2 * limit + QuotaLevel::slack + 1) == Verdict::doubtful);
    CHECK(level.judge(2 * limit + QuotaLevel::slack + 1) == Verdict::exceeded);
    CHECK(level.judge(limit / 2) == Verdict::fine);
    CHECK(level.judge(limit + 1) == Verdict::doubtful);
}

TEST_CASE("a home above its limit grows by no more with each command")
{
    QuotaLevel level(limit);
    level.begin(3 * limit);
    const auto some = QuotaLevel::slack / 2 + 1;
    CHECK(level.judge(3 * limit + some) == Verdict::fine);
    level.begin(3 * limit + some);
    CHECK(level.judge(3 * limit + 2 * some) == Verdict::doubtful);
    CHECK(level.judge(3 * limit + 2 * some) == Verdict::exceeded);
    level.begin(2 * limit); // somebody made room
    CHECK(level.judge(2 * limit + some) == Verdict::fine);
}

TEST_CASE("what one had written until it was stopped is not held against the others")
{
    QuotaLevel level(limit);
    level.begin(0);
    CHECK(level.judge(2 * limit) == Verdict::doubtful);
    CHECK(level.judge(2 * limit) == Verdict::exceeded);
    level.forgive();
    CHECK(level.judge(4 * limit) == Verdict::fine);
    CHECK(level.judge(5 * limit) == Verdict::doubtful);
    CHECK(level.judge(5 * limit) == Verdict::exceeded);
}

TEST_CASE("another limit is judged by from the next count on")
{
    QuotaLevel level(limit);
    level.begin(limit / 2);
    level.set_limit(limit / 4);
    CHECK(level.judge(limit / 2) == Verdict::fine); // it has more already, and must not grow
    CHECK(level.judge(limit / 2 + QuotaLevel::slack + 1) == Verdict::doubtful);
    CHECK(level.judge(limit / 2 + QuotaLevel::slack + 1) == Verdict::exceeded);
    level.set_limit(4 * limit);
    CHECK(level.judge(3 * limit) == Verdict::fine);
    CHECK(level.judge(4 * limit + 1) == Verdict::doubtful);
}

TEST_CASE("the same limit again changes nothing")
{
    QuotaLevel level(limit);
    level.begin(0);
    level.set_limit(limit);
    CHECK(level.judge(2 * limit) == Verdict::doubtful);
}

TEST_CASE("a home that is too large grows by the slack once, until it has room again")
{
    QuotaLevel level(limit);
    CHECK_FALSE(level.rest_of_slack(limit));
    const auto full = limit + 1000;
    CHECK(level.rest_of_slack(full) == QuotaLevel::slack);
    // Each of these is a command that was over before it was judged.
    CHECK(level.rest_of_slack(full + 1000) == QuotaLevel::slack - 1000);
    CHECK(level.rest_of_slack(full + QuotaLevel::slack) == 0);
    CHECK(level.rest_of_slack(full + 3 * QuotaLevel::slack) == 0);
    // What was removed may come back, and no more.
    CHECK(level.rest_of_slack(limit + 500) == QuotaLevel::slack);
    CHECK(level.rest_of_slack(full) == QuotaLevel::slack - 500);
    CHECK_FALSE(level.rest_of_slack(limit));
    CHECK(level.rest_of_slack(full) == QuotaLevel::slack);
}
