#include "sandbox/base/joined.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using berth::joined;
using berth::joined_first;

namespace {

struct Named {
    std::string_view name;
};

} // namespace

TEST_CASE("items are joined with what stands between them, and nowhere else")
{
    CHECK(joined(std::vector<std::string>{}).empty());
    CHECK(joined(std::vector<std::string>{"a"}) == "a");
    CHECK(joined(std::vector<std::string>{"a", "b", "c"}) == "a, b, c");
    CHECK(joined(std::vector<std::string>{"a", "b"}, " or ") == "a or b");
}

TEST_CASE("an item's text is what it is asked for")
{
    const std::vector<Named> items{{"a"}, {"b"}};
    CHECK(joined(items, ",", &Named::name) == "a,b");
    const std::vector<const Named*> pointers{&items[1], &items[0]};
    CHECK(joined(pointers, ", ", &Named::name) == "b, a");
    const std::map<std::string, int> pairs{{"one", 1}, {"two", 2}};
    CHECK(joined(pairs, ", ", &std::pair<const std::string, int>::first) == "one, two");
    CHECK(joined(pairs, ";", [](const auto& each) { return std::to_string(each.second); }) ==
          "1;2");
}

TEST_CASE("of more than are named the number of the others is told")
{
    const std::vector<std::string> items{"a", "b", "c"};
    CHECK(joined_first(std::vector<std::string>{}, 2).empty());
    CHECK(joined_first(items, 3) == "a, b, c");
    CHECK(joined_first(items, 2) == "a, b and 1 more");
    CHECK(joined_first(std::vector<Named>{{"x"}, {"y"}}, 1, &Named::name) == "x and 1 more");
}
