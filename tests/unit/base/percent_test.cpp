#include "sandbox/base/percent.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::percent_decoded;

TEST_CASE("half a percent sign is no text")
{
    for (const std::string text : {"%", "a%2", "%zz", "%0g", "%00"}) {
        CAPTURE(text);
        CHECK_FALSE(percent_decoded(text));
    }
}
