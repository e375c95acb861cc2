#include "sandbox/base/random.hpp"
#include "sandbox/base/wall_time.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace berth;

TEST_SUITE("base/wall_time")
{
    TEST_CASE("a time survives its text")
    {
        const auto time = std::chrono::system_clock::from_time_t(1'795'182'393);
        CHECK(rfc3339(time) == "2026-11-20T13:46:33Z");
        CHECK(parse_rfc3339(rfc3339(time)) == time);
        CHECK(rfc3339({}) == "1970-01-01T00:00:00Z");
    }

    TEST_CASE("what is not exactly of the form is nothing")
    {
        for (const char* text : {"", "2026-11-20", "2026-11-20T13:46:33", "2026-11-20T13:46:33Zx",
                                 "2026-13-20T13:46:33Z", " 2026-1-20T13:46:33Z", "yesterday",
                                 "0021-02-28T01:02:03Z", "9999-12-31T23:59:59Z"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_rfc3339(text).has_value());
        }
    }

    TEST_CASE("a date of HTTP is one of the form that servers send")
    {
        CHECK(parse_http_date("Fri, 20 Nov 2026 13:46:33 GMT") ==
              std::chrono::system_clock::from_time_t(1'795'182'393));
        for (const char* text :
             {"", "3", "soon", "Fri, 20 Nov 2026 13:46:33", "Fri, 20 Nov 2026 13:46:33 CET",
              "Friday, 20-Nov-26 13:46:33 GMT", "Fri Nov 20 13:46:33 2026"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_http_date(text).has_value());
        }
    }
}

TEST_SUITE("base/random")
{
    TEST_CASE("ids have their length, are hex and never repeat")
    {
        std::set<std::string> seen;
        for (int i = 0; i < 1000; ++i) {
            const auto id = random_hex(16);
            CHECK(id.size() == 32);
            CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
            CHECK(seen.insert(id).second);
        }
        CHECK(random_hex(0).empty());
        CHECK(random_hex(256).size() == 512);
    }
}
