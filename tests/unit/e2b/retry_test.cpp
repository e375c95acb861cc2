#include "sandbox/e2b/retry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using berth::e2b::backoff;
using berth::e2b::most_failures;
using berth::e2b::most_unanswered;
using berth::e2b::parse_retry_after;
using berth::e2b::Refused;
using berth::e2b::Repeating;
using berth::e2b::wait_after_break;
using berth::e2b::wait_before_repeating;
using berth::e2b::wait_within;

TEST_CASE("a backoff doubles its bound from 6 s to 60 s, and is never below 3 s")
{
    CHECK(backoff(1, 0) == 3s);
    CHECK(backoff(1, 1) == 6s);
    CHECK(backoff(2, 1) == 12s);
    CHECK(backoff(3, 1) == 24s);
    CHECK(backoff(4, 1) == 48s);
    CHECK(backoff(5, 1) == 60s);
    CHECK(backoff(1, 0.5) == 4500ms);
    CHECK(backoff(0, 1) == 6s);
    for (const unsigned many : {6U, 100U, 4'000'000'000U}) {
        CHECK(backoff(many, 1) == 60s);
        CHECK(backoff(many, 0) == 3s);
    }
    CHECK(backoff(2, -1) == 3s);
    CHECK(backoff(2, 7) == 12s);
}

TEST_CASE("who waits a little waits up to a fifth longer, and not all of them as long")
{
    using berth::e2b::random_part;
    using berth::e2b::spread;
    CHECK(spread(500ms, 0) == 500ms);
    CHECK(spread(500ms, 1) == 600ms);
    CHECK(spread(0ms, 1) == 0ms);
    double least = 1;
    double most = 0;
    for (int i = 0; i < 100; ++i) {
        const double part = random_part();
        least = std::min(least, part);
        most = std::max(most, part);
    }
    CHECK(least >= 0);
    CHECK(most <= 1);
    CHECK(most - least > 0.5);
}

TEST_CASE("Retry-After is taken as a whole number of seconds only")
{
    CHECK(parse_retry_after("0") == 0s);
    CHECK(parse_retry_after("17") == 17s);
    CHECK(parse_retry_after("86400") == 86400s);
    for (const std::string value : {"", "-1", "1.5", "1s", " 1", "86401", "99999999999999999999",
                                    "Wed, 21 Oct 2026 07:28:00 GMT", "soon"}) {
        CAPTURE(value);
        CHECK_FALSE(parse_retry_after(value));
    }
}

TEST_CASE("a 429 is repeated when it says when, and never earlier")
{
    for (const auto repeating : {Repeating::safe, Repeating::uncertain}) {
        CHECK(wait_before_repeating({429, 10s}, repeating, 1, 0) == 10s);
        CHECK(wait_before_repeating({429, 10s}, repeating, 1, 1) == 11s);
        CHECK(wait_before_repeating({429, 0s}, repeating, 1, 0) == 1s);
        CHECK_FALSE(wait_before_repeating({429}, repeating, 1, 0));
    }
}

TEST_CASE("a 503 is repeated with a backoff, but no create is")
{
    CHECK(wait_before_repeating({503}, Repeating::safe, 1, 0) == 3s);
    CHECK(wait_before_repeating({503}, Repeating::safe, 3, 1) == 24s);
    CHECK(wait_before_repeating({503, 30s}, Repeating::safe, 1, 0) == 30s);
    CHECK(wait_before_repeating({503, 1s}, Repeating::safe, 1, 0) == 3s);
    CHECK_FALSE(wait_before_repeating({503}, Repeating::uncertain, 1, 0));
    CHECK_FALSE(wait_before_repeating({503, 30s}, Repeating::uncertain, 1, 0));
}

TEST_CASE("what a gateway gave up, or a server failed at, is repeated twice, but no create is")
{
    for (const int status : {500, 502, 504}) {
        CAPTURE(status);
        CHECK(wait_before_repeating({status}, Repeating::safe, 1, 0) == 3s);
        CHECK(wait_before_repeating({status}, Repeating::safe, 2, 1) == 12s);
        CHECK_FALSE(wait_before_repeating({status}, Repeating::safe, most_unanswered, 0));
        CHECK_FALSE(wait_before_repeating({status}, Repeating::uncertain, 1, 0));
    }
}

TEST_CASE("what passes is repeated, but no create is")
{
    const Refused between{.status = 409, .passes = true};
    CHECK(wait_before_repeating(between, Repeating::safe, 1, 0) == 3s);
    CHECK(wait_before_repeating(between, Repeating::safe, most_failures - 1, 0));
    CHECK_FALSE(wait_before_repeating(between, Repeating::safe, most_failures, 0));
    CHECK_FALSE(wait_before_repeating(between, Repeating::uncertain, 1, 0));
}

TEST_CASE("a connection that ended is made anew soon, then later, then not")
{
    CHECK(wait_after_break(1, 0) == 200ms);
    CHECK(wait_after_break(1, 1) == 400ms);
    CHECK(wait_after_break(2, 0) == 1s);
    CHECK(wait_after_break(2, 1) == 2s);
    CHECK_FALSE(wait_after_break(most_unanswered, 0));
}

TEST_CASE("a wait that does not fit in what is left is half of it, where nobody has said how long")
{
    CHECK(wait_within(3s, 3001ms, true) == 3s);
    CHECK(wait_within(3s, 3001ms, false) == 3s);
    CHECK(wait_within(3s, 3s, true) == 1500ms);
    CHECK(wait_within(60s, 1s, true) == 500ms);
    CHECK_FALSE(wait_within(3s, 999ms, true));
    CHECK(wait_within(200ms, 999ms, true) == 200ms);
    CHECK_FALSE(wait_within(3s, 3s, false));
    CHECK_FALSE(wait_within(3s, 0ms, true));
}

TEST_CASE("nothing else is repeated, and nothing for ever")
{
    for (const int status : {400, 401, 403, 404, 405, 409, 413, 501, 302, 200}) {
        CAPTURE(status);
        CHECK_FALSE(wait_before_repeating({status, 1s}, Repeating::safe, 1, 0));
    }
    CHECK(wait_before_repeating({429, 1s}, Repeating::safe, most_failures - 1, 0));
    CHECK_FALSE(wait_before_repeating({429, 1s}, Repeating::safe, most_failures, 0));
}
