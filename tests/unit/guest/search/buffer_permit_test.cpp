#include "sandbox/guest/search/buffer_permit.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stop_token>
#include <thread>

using berth::guest::search::BufferPermit;
using berth::guest::search::SearchLimits;

TEST_CASE("large buffers wait for each other, but not past a stop")
{
    SearchLimits limits({}, 0);
    BufferPermit all;
    REQUIRE(all.acquire(BufferPermit::max_of_process, limits));
    BufferPermit other;
    SearchLimits soon({}, 30);
    CHECK_FALSE(other.acquire(1, soon));
    CHECK_FALSE(other.held());

    std::jthread giver([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        all.release();
    });
    CHECK(other.acquire(BufferPermit::max_of_process, limits));
}

TEST_CASE("a permit that is asked again gives back what it had")
{
    SearchLimits limits({}, 0);
    BufferPermit permit;
    REQUIRE(permit.acquire(BufferPermit::max_of_process, limits));
    CHECK(permit.acquire(BufferPermit::max_of_process, limits));
}
