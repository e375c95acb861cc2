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
        return berth::sandbox::is_missing(layers_of({}, result, cgroups, "", ""), name);
    };
    CHECK_FALSE(missing("cgroup-cpu"));
    result.missing = {"cgroup-cpu"};
    CHECK(missing("cgroup-cpu"));
    CHECK_FALSE(missing("cgroup-memory"));
    CHECK_FALSE(missing("cgroup-pids"));
}

TEST_CASE("whose programs are seen is told")
{
    const auto detail = [](const std::string& template_directory) {
        for (const auto& layer : layers_of({}, {}, {}, "", "", template_directory)) {
            if (layer.name == "mountns") {
                return layer.detail;
            }
        }
        return std::string();
    };
    CHECK(detail("") == "own root; the host's /usr and parts of /etc read-only");
    CHECK(detail("/srv/t") == "own root; the template /srv/t read-only");
}

TEST_CASE("of a cgroup namespace no more is told than it hides")
{
    LaunchSpec plan;
    const auto detail = [&] {
        for (const auto& layer : layers_of(plan, {}, {}, "", "")) {
            if (layer.name == "cgroupns") {
                return (layer.in_force ? "in force: " : "missing: ") + layer.detail;
            }
        }
        return std::string();
    };
    CHECK(detail() == "missing: the full names of the session's cgroups can be seen inside");
    plan.cgroup.new_namespace = true;
    CHECK(detail() == "in force: of the host's cgroups only the session's own can be named inside");
    // Entered after the namespace was made, they have names below the server's cgroup.
    plan.cgroup.v1.pids = "/sys/fs/cgroup/pids";
    CHECK(detail().ends_with(", those of cgroup v1 by berth's names for them"));
}

TEST_CASE("a host uid is told for what it is: no other session's of one state directory")
{
    LaunchSpec plan;
    plan.host_uid = 2'000'007;
    const auto detail = [&] {
        for (const auto& layer : layers_of(plan, {}, {}, "why not", "")) {
            if (layer.name == "uid") {
                return (layer.in_force ? "in force: " : "missing: ") + layer.detail;
            }
        }
        return std::string();
    };
    CHECK(detail() == "missing: host uid 2000007 is that of the user who runs berth; only root can "
                      "give each session its own (why not)");
    plan.privileged = true;
    CHECK(detail() == "in force: host uid 2000007 is no other session's of this state directory");
}

TEST_CASE("whose limit the quota of the home is, where it is limited")
{
    LaunchSpec plan;
    const auto told = [&](const std::string& obstacle) {
        for (const auto& layer : layers_of(plan, {}, {}, "", obstacle)) {
            if (layer.name == "quota") {
                return (layer.in_force ? "in force: " : "missing: ") + layer.detail;
            }
        }
        return std::string("not told");
    };
    CHECK(told("") == "not told");
    plan.guest.quota = 1;
    CHECK(told("").starts_with("in force: the kernel refuses"));
    CHECK(told("no prjquota") ==
          "missing: session.quota is kept by berth's own count: no prjquota");
}
