#include "sandbox/guest/exec/environment.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::guest::Environment;

TEST_SUITE("environment")
{
    TEST_CASE("variables are what they were, empty ones too")
    {
        const Environment::Variables variables{{"A", "1"}, {"B", ""}, {"C", "x=y z"}};
        CHECK(Environment(variables).variables() == variables);
        CHECK(Environment({}).variables().empty());
    }

    TEST_CASE("a zero byte ends a value, and not what comes after it")
    {
        const Environment environment({{"A", std::string("1\0002", 3)}, {"B", "2"}});
        CHECK(environment.variables() == Environment::Variables{{"A", "1"}, {"B", "2"}});
    }
}
