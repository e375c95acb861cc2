#include "server/transport/http_room.hpp"

#include <doctest/doctest.h>

#include <memory>

using berth::transport::HttpRoom;

TEST_CASE("a request has room within that of all and a quarter of it, and gives it back")
{
    const auto all = std::make_shared<HttpRoom::Count>(0);
    const auto own = std::make_shared<HttpRoom::Count>(0);
    constexpr HttpRoom::Limits limits{.all = 400, .body = 10};
    {
        HttpRoom one(all, own, limits);
        HttpRoom other(all, own, limits);
        CHECK(one.take(60));
        CHECK_FALSE(other.take(41)); // of both together
        CHECK(*own == 60);           // what was refused is not held
        CHECK(other.take(40));
        CHECK_FALSE(one.take(1));
        HttpRoom stranger(all, nullptr, limits);
        CHECK_FALSE(stranger.take(301));
        CHECK(stranger.take(300));
        HttpRoom late(all, nullptr, limits);
        CHECK_FALSE(late.take(1));
        CHECK(*all == 400);
    }
    CHECK(*all == 0);
    CHECK(*own == 0);
    HttpRoom large(all, own, {.all = 400, .body = 200});
    CHECK(large.take(200)); // one body is always taken
}
