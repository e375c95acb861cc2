#include "sandbox/local/cgroup_layout.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

constexpr const char* v2_line = "30 23 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw";

void add_v2(const TemporaryTree& host, const std::string& directory, const std::string& controllers)
{
    host.add(directory + "/cgroup.procs", "");
    host.add(directory + "/cgroup.controllers", controllers + "\n");
}

} // namespace

TEST_CASE("v2 with all controllers is all that is needed")
{
    const TemporaryTree host;
    host.add("proc/self/mountinfo", std::string(v2_line) + ",nsdelegate\n");
    host.add("proc/self/cgroup", "0::/user.slice/a.scope\n");
    add_v2(host, "cg", "cpuset cpu io memory pids");
    add_v2(host, "cg/user.slice/a.scope", "memory pids");
    const auto root = find_cgroups(host.path(), /*privileged=*/true);
    CHECK(root.v2_base == host.path() + "/cg");
    CHECK(root.v2_controllers);
    CHECK(root.v2_io);
    CHECK_FALSE(root.namespace_fits);
    CHECK(root.v1.memory.empty());
    CHECK(root.limits_cpu());

    const auto user = find_cgroups(host.path(), /*privileged=*/false);
    CHECK(user.v2_base == host.path() + "/cg/user.slice/a.scope");
    // No cpu controller was delegated: all or nothing.
    CHECK_FALSE(user.v2_controllers);
    CHECK_FALSE(user.v2_io);
    CHECK(user.kills());
    CHECK_FALSE(user.limits_memory());

    // As systemd delegates them to users.
    add_v2(host, "cg/user.slice/a.scope", "cpu memory pids");
    const auto delegated = find_cgroups(host.path(), /*privileged=*/false);
    CHECK(delegated.v2_controllers);
    CHECK_FALSE(delegated.v2_io);
}

TEST_CASE("a hybrid host has v2 to kill and v1 to limit")
{
    const TemporaryTree host;
    host.add("proc/self/mountinfo", "31 23 0:28 / /cg rw - tmpfs tmpfs rw\n"
                                    "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                    "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
                                    "39 31 0:36 / /cg/pids rw - cgroup cgroup rw,pids\n"
                                    "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    host.add("proc/self/cgroup", "8:pids:/\n4:memory:/outer/x\n1:cpu,cpuacct:/\n0::/\n");
    add_v2(host, "cg/unified", "");
    host.add_directory("cg/memory/outer/x");
    host.add_directory("cg/cpu");
    host.add_directory("cg/pids");
    const auto layout = find_cgroups(host.path(), true);
    CHECK(layout.v2_base == host.path() + "/cg/unified");
    CHECK_FALSE(layout.v2_controllers);
    CHECK(layout.namespace_fits);
    // Below the caller's own: its limits hold for the sandboxes too.
    CHECK(layout.v1.memory == host.path() + "/cg/memory/outer/x");
    CHECK(layout.v1.pids == host.path() + "/cg/pids");
    CHECK(layout.v1.cpu == host.path() + "/cg/cpu");
}

TEST_CASE("the freezer of v1 is for a host without v2")
{
    const TemporaryTree host;
    const std::string v1 = "32 31 0:29 / /cg/freezer rw - cgroup cgroup rw,freezer\n";
    host.add("proc/self/mountinfo", v1 + "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    host.add("proc/self/cgroup", "8:freezer:/\n0::/\n");
    host.add_directory("cg/freezer");
    add_v2(host, "cg/unified", "");
    CHECK(find_cgroups(host.path(), true).v1.freezer.empty());
    host.add("proc/self/mountinfo", v1);
    CHECK(find_cgroups(host.path(), true).v1.freezer == host.path() + "/cg/freezer");
}

TEST_CASE("in a container the mount shows only a part of the tree")
{
    const TemporaryTree host;
    host.add("proc/self/mountinfo", "30 23 0:26 /docker/abc /cg rw - cgroup2 cgroup2 rw\n");
    host.add("proc/self/cgroup", "0::/docker/abc/inner\n");
    add_v2(host, "cg", "cpu memory pids");
    add_v2(host, "cg/inner", "cpu memory pids");
    CHECK(find_cgroups(host.path(), false).v2_base == host.path() + "/cg/inner");
    host.add("proc/self/cgroup", "0::/../../elsewhere\n");
    CHECK(find_cgroups(host.path(), false).v2_base == host.path() + "/cg");
}

TEST_CASE("without cgroups there are none")
{
    const TemporaryTree host;
    const auto layout = find_cgroups(host.path(), true);
    CHECK_FALSE(layout.kills());
    CHECK_FALSE(layout.limits_memory());
    host.add("proc/self/mountinfo", "garbage\n - cgroup2\n");
    host.add("proc/self/cgroup", "::\n");
    CHECK_FALSE(find_cgroups(host.path(), true).kills());
}

TEST_CASE("what is advised to who has no cgroup can be done there")
{
    const TemporaryTree host;
    const auto remedy = [&] { return cgroup_remedy(host.path(), 1000); };
    // A container, or a host that something else has started.
    CHECK(remedy().find("systemd-run") == std::string::npos);
    CHECK(remedy().find("loginctl") == std::string::npos);
    CHECK(remedy().starts_with("whoever starts berth has to give it a cgroup"));
    CHECK(cgroup_remedy(host.path(), 0).find("start berth where its cgroup can be written") == 0);

    const std::string line = "systemd-run --user --scope -p Delegate=yes berth serve";
    host.add_directory("run/systemd/system");
    CHECK(remedy().find("loginctl enable-linger") != std::string::npos);
    CHECK(remedy().ends_with(line)); // to be pasted, with nothing behind it
    host.add("run/user/1000/systemd/private", "");
    CHECK(remedy() == line);
}
