#include "sandbox/base/small_letters.hpp"

#include <doctest/doctest.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

TEST_CASE("only letters of ASCII are made small")
{
    CHECK(in_small_letters("AZaz[@`{\xc3\x84") == "azaz[@`{\xc3\x84");
}
