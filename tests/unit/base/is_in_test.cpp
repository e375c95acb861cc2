#include "sandbox/base/is_in.hpp"

#include <doctest/doctest.h>

TEST_CASE("a path is in a folder by whole names")
{
    CHECK(berth::is_in("/home/user", "/home/user"));
    CHECK(berth::is_in("/home/user/a", "/home/user"));
    CHECK_FALSE(berth::is_in("/home/user2", "/home/user"));
    CHECK_FALSE(berth::is_in("/home", "/home/user"));
    CHECK(berth::is_in("/home", "/"));
    CHECK(berth::is_in("/", "/"));
    CHECK_FALSE(berth::is_in("/", "/home"));
}
