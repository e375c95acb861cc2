#include "server/options/unknown_variables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

TEST_CASE("a misspelt variable is told with the one that was meant")
{
    const auto unknown = unknown_variables(
        {"BERTH_SESION", "BERTH_LOCAL_MEMROY", "BERTH_", "BERTH_SOMETHING_OF_ANOTHER_PROGRAM"});
    REQUIRE(unknown.size() == 4);
    CHECK(unknown[0].nearest == "BERTH_SESSION");
    CHECK(unknown[1].name == "BERTH_LOCAL_MEMROY");
    CHECK(unknown[1].nearest == "BERTH_LOCAL_MEMORY");
    CHECK(unknown[3].nearest.empty());
}

TEST_CASE("what berth reads, and what is not berth's, is not told")
{
    CHECK(unknown_variables({"BERTH_CONFIG", "BERTH_SESSION", "BERTH_LIBEXEC_DIR",
                             "BERTH_STATE_DIR", "BERTH_LOCAL_MEMORY", "BERTH_VAR", "PATH",
                             "berth_x", "MY_BERTH_X", "BERTHA"})
              .empty());
}

TEST_CASE("the environment's names are without their values")
{
    ::setenv("BERTH_TEST_NAME", "a=b", 1); // NOLINT(concurrency-mt-unsafe): one thread here
    const auto names = variable_names();
    ::unsetenv("BERTH_TEST_NAME"); // NOLINT(concurrency-mt-unsafe)
    CHECK(std::count(names.begin(), names.end(), "BERTH_TEST_NAME") == 1);
}
