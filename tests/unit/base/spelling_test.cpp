#include "sandbox/base/spelling.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::nearest;

TEST_CASE("the nearest word is one or two slips away, or there is none")
{
    CHECK(nearest("comand", {"command", "timeout"}) == "command");
    CHECK(nearest("tiemout", {"command", "timeout"}) == "timeout");
    CHECK(nearest("ignorecase", {"ignore_case", "include"}) == "ignore_case");
    CHECK(nearest("zzzzzz", {"command", "timeout"}) == "");
    CHECK(nearest("", {"a"}) == "");
    CHECK(nearest(std::string(1'000'000, 'a'), {"a"}) == "");
}
