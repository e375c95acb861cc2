#include "sandbox/base/enumeration.hpp"

#include <doctest/doctest.h>

using berth::enumerated;

TEST_CASE("words are enumerated as in a sentence")
{
    CHECK(enumerated({}).empty());
    CHECK(enumerated({"tabs"}) == "tabs");
    CHECK(enumerated({"tabs", "quotes"}) == "tabs and quotes");
    CHECK(enumerated({"tabs", "quotes", "line ends"}) == "tabs, quotes and line ends");
}
