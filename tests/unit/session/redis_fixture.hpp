#pragma once

#include "sandbox/session/place.hpp"
#include "tests/unit/session/manager_fixture.hpp"
#include "tests/unit/session/redis_server.hpp"

namespace berth::tests {

/// Servers of one host, with their books in a Redis of the test's own.
struct RedisFixture : ManagerFixture {
    RedisServer redis;

    RedisFixture()
    {
        settings.redis = redis.address();
        settings.place = session::this_place("", settings.state_directory);
    }
};

} // namespace berth::tests
