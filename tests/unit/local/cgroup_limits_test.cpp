#include "sandbox/local/cgroup_limits.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

using berth::local::change_cgroup_limits;
using berth::local::test::TemporaryTree;
using berth::sandbox::Limits;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

struct Host {
    TemporaryTree tree;
    Limits limits{.memory = 64 * mebibyte, .pids = 50, .cpus = 0.5};

    [[nodiscard]] std::string read(const std::string& name) const
    {
        std::ifstream file(tree.path() + "/" + name);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    void v2() const
    {
        tree.add("s/cmds/memory.max", "x");
        tree.add("s/cmds/memory.current", std::to_string(80 * mebibyte) + "\n");
        tree.add("s/cmds/memory.stat", "anon 1\nfile " + std::to_string(70 * mebibyte) +
                                           "\nkernel 2\nshmem " + std::to_string(40 * mebibyte) +
                                           "\nfile_mapped 3\n");
        tree.add("s/cmds/pids.max", "x");
        tree.add("s/cmds/pids.current", "50\n");
        tree.add("s/cmds/cpu.max", "x");
        tree.add("s/guest/cpu.max", "x");
        tree.add("s/cpu.weight", "x");
        tree.add("s/io.weight", "x");
        tree.add("s/io.bfq.weight", "x");
    }

    [[nodiscard]] berth::sandbox::ChangedLimits change() const
    {
        return change_cgroup_limits({tree.path() + "/s"}, limits);
    }
};

} // namespace

TEST_SUITE("local/cgroup_limits")
{
    TEST_CASE("of v2")
    {
        const Host host;
        host.v2();
        const auto changed = host.change();
        CHECK(changed.memory);
        CHECK(changed.pids);
        CHECK(changed.cpus);
        CHECK(host.read("s/cmds/memory.max") == "67108864");
        CHECK(host.read("s/cmds/pids.max") == "50");
        CHECK(host.read("s/cmds/cpu.max") == "50000 100000");
        CHECK(host.read("s/guest/cpu.max") == "100000 100000"); // a whole processor at least
        CHECK(host.read("s/cpu.weight") == "50"); // which is all it has of a full host
        CHECK(host.read("s/io.weight") == "50");
        CHECK(host.read("s/io.bfq.weight") == "50");
    }

    TEST_CASE("the weights of v2 keep to the kernel's bounds")
    {
        Host host;
        host.v2();
        host.limits.cpus = 200;
        (void)host.change();
        CHECK(host.read("s/cpu.weight") == "10000");
        CHECK(host.read("s/io.weight") == "10000");
        CHECK(host.read("s/io.bfq.weight") == "1000");
    }

    TEST_CASE("not below what is used, for which the kernel would kill; the cache is not used")
    {
        Host host;
        host.v2();
        host.limits.memory = 50 * mebibyte - 1; // 80 without the 30 of files
        host.limits.pids = 49;
        const auto changed = host.change();
        CHECK_FALSE(changed.memory);
        CHECK_FALSE(changed.pids);
        CHECK(changed.cpus);
        CHECK(host.read("s/cmds/memory.max") == "x");
        CHECK(host.read("s/cmds/pids.max") == "x");
        host.limits.memory = 50 * mebibyte;
        CHECK(host.change().memory);
    }

    TEST_CASE("nor where what is used cannot be read")
    {
        const Host host;
        host.tree.add("s/cmds/memory.max", "x");
        host.tree.add("s/cmds/pids.max", "x");
        const auto changed = host.change();
        CHECK_FALSE(changed.memory);
        CHECK_FALSE(changed.pids);
        CHECK(host.read("s/cmds/memory.max") == "x");
    }

    TEST_CASE("of v1, each controller in a place of its own")
    {
        Host host;
        host.tree.add("memory/cmds/memory.limit_in_bytes", "1");
        host.tree.add("memory/cmds/memory.memsw.limit_in_bytes", "1");
        host.tree.add("memory/cmds/memory.kmem.tcp.limit_in_bytes", "1");
        host.tree.add("cpu/cmds/cpu.cfs_quota_us", "1");
        host.tree.add("cpu/guest/cpu.cfs_quota_us", "1");
        host.tree.add("cpu/cpu.shares", "1");
        host.limits.cpus = 1.5;
        const auto changed = change_cgroup_limits(
            {host.tree.path() + "/memory", host.tree.path() + "/cpu", host.tree.path() + "/none"},
            host.limits);
        CHECK(changed.memory);
        CHECK_FALSE(changed.pids);
        CHECK(changed.cpus);
        CHECK(host.read("memory/cmds/memory.limit_in_bytes") == "67108864");
        CHECK(host.read("memory/cmds/memory.memsw.limit_in_bytes") == "67108864");
        CHECK(host.read("memory/cmds/memory.kmem.tcp.limit_in_bytes") == "67108864");
        CHECK(host.read("cpu/cmds/cpu.cfs_quota_us") == "150000");
        CHECK(host.read("cpu/guest/cpu.cfs_quota_us") == "150000");
        CHECK(host.read("cpu/cpu.shares") == "1536");
    }

    TEST_CASE("of v1, what is told as not changed is as it was")
    {
        Host host;
        host.tree.add("memory/cmds/memory.limit_in_bytes/folder", "cannot be written");
        host.tree.add("memory/cmds/memory.kmem.tcp.limit_in_bytes", "12345678");
        CHECK_FALSE(change_cgroup_limits({host.tree.path() + "/memory"}, host.limits).memory);
        CHECK(host.read("memory/cmds/memory.kmem.tcp.limit_in_bytes") == "12345678");
    }

    TEST_CASE("where there is no cgroup nothing is changed")
    {
        const Host host;
        const auto changed = host.change();
        CHECK_FALSE(changed.memory);
        CHECK_FALSE(changed.pids);
        CHECK_FALSE(changed.cpus);
        CHECK_FALSE(change_cgroup_limits({}, host.limits).memory);
    }
}
