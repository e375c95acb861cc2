#include "sandbox/local/layers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::local;

TEST_CASE("a limit that the kernel refused is not told as one")
{
    CgroupLayout cgroups;
    cgroups.v2_base = "/sys/fs/cgroup";
    cgroups.v2_controllers = true;
    LaunchResult result;
    const auto missing = [&](const std::string& name) {
        return berth::sandbox::is_missing(layers_of({}, result, cgroups, ""), name);
    };
    CHECK_FALSE(missing("cgroup-cpu"));
    result.missing = {"cgroup-cpu"};
    CHECK(missing("cgroup-cpu"));
    CHECK_FALSE(missing("cgroup-memory"));
    CHECK_FALSE(missing("cgroup-pids"));
}
