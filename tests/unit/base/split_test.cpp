#include "sandbox/base/split.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

using berth::split;

TEST_CASE("a text is split at each separator, and one at its end ends the last part")
{
    using Parts = std::vector<std::string_view>;
    CHECK(split("", ',') == Parts{});
    CHECK(split("a", ',') == Parts{"a"});
    CHECK(split("a,b", ',') == Parts{"a", "b"});
    CHECK(split("a,b,", ',') == Parts{"a", "b"});
    CHECK(split(",a,,b", ',') == Parts{"", "a", "", "b"});
    CHECK(split(",", ',') == Parts{""});
    CHECK(split("a,,", ',') == Parts{"a", ""});
}
