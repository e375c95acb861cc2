// The limits of a machine, as the kernel has them: read from the files of its cgroups.

#include "sandbox/local/local_machine.hpp"
#include "tests/unit/local/host_cgroups.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include <sys/resource.h>

using namespace berth;
using namespace berth::local::test;

namespace {

/// The content of the first of these files that the session's cgroups have: the name of v2, of v1.
std::string limit(const local::MachineFacts& facts, const std::string& v2, const std::string& v1)
{
    for (const auto& name : {v2, v1}) {
        for (const auto& cgroup : facts.cgroups) {
            if (const std::string file = cgroup + "/" + name; exists(file)) {
                return read_text(file);
            }
        }
    }
    return "none";
}

sandbox::MachineSpec small_spec()
{
    auto spec = Bench::spec();
    spec.limits.memory = 192ULL << 20U;
    spec.limits.pids = 77;
    spec.limits.cpus = 1.5;
    return spec;
}

/// This process's, of one resource, for as long as it lives.
class LowLimit {
  public:
    LowLimit(__rlimit_resource_t resource, rlim_t low) : resource_(resource)
    {
        REQUIRE(::getrlimit(resource, &before_) == 0);
        // Not the hard one: not every root may have it back.
        const rlimit now{.rlim_cur = low, .rlim_max = before_.rlim_max};
        REQUIRE(::setrlimit(resource, &now) == 0);
    }

    ~LowLimit() { ::setrlimit(resource_, &before_); }

    LowLimit(const LowLimit&) = delete;
    LowLimit& operator=(const LowLimit&) = delete;

    /// What a shell says of a limit that is not there any more.
    [[nodiscard]] std::string gone() const
    {
        return before_.rlim_max == RLIM_INFINITY ? "unlimited\n"
                                                 : std::to_string(before_.rlim_max) + '\n';
    }

  private:
    __rlimit_resource_t resource_;
    rlimit before_{};
};

/// This process's, of one resource, for as long as it lives, where it may have so much.
class HighLimit {
  public:
    HighLimit(__rlimit_resource_t resource, rlim_t high) : resource_(resource)
    {
        REQUIRE(::getrlimit(resource, &before_) == 0);
        const rlimit now{.rlim_cur = high, .rlim_max = high};
        (void)::setrlimit(resource, &now);
    }

    ~HighLimit() { ::setrlimit(resource_, &before_); }

    HighLimit(const HighLimit&) = delete;
    HighLimit& operator=(const HighLimit&) = delete;

  private:
    __rlimit_resource_t resource_;
    rlimit before_{};
};

/// Of a machine with so many processors; nothing where that is not in force.
std::optional<local::MachineFacts> facts_with(Bench& bench, double cpus)
{
    auto spec = Bench::spec();
    spec.limits.cpus = cpus;
    const auto& machine = bench.make(spec);
    return in_force(machine, "cgroup-cpu") ? std::optional(local::facts_from(machine.record()))
                                           : std::nullopt;
}

} // namespace

TEST_CASE("the limits of the process that made a machine are not the machine's")
{
    const LowLimit seconds(RLIMIT_CPU, 3600);
    const LowLimit stack(RLIMIT_STACK, 1UL << 20U);
    Bench bench;
    bench.make();
    CHECK(bench.run("ulimit -t") == seconds.gone());
    CHECK(bench.run("ulimit -s") == "8192\n");
}

TEST_CASE("no command may go before others, also where whoever made the machine may")
{
    const HighLimit real_time(RLIMIT_RTPRIO, 50);
    const HighLimit nice(RLIMIT_NICE, 30);
    Bench bench;
    bench.make();
    CHECK(bench.run("ulimit -H -r; ulimit -H -e") == "0\n0\n");
    CHECK(bench.run("chrt -f 1 true 2>/dev/null || echo refused") == "refused\n");
}

TEST_CASE("as root a limit is in force where the host's kernel has its controller")
{
    Bench bench;
    const auto& machine = bench.make(small_spec());
    const auto known = bench.backend().limit_layers();
    CHECK(known.size() == 3);
    for (const std::string controller : {"memory", "pids", "cpu"}) {
        CAPTURE(controller);
        if (is_root()) {
            CHECK(in_force(machine, "cgroup-" + controller) == host_limits(controller));
        }
        CHECK(in_force(machine, "cgroup-" + controller) ==
              !sandbox::is_missing(known, "cgroup-" + controller));
    }
}

TEST_CASE("the limits of the commands are in their cgroup")
{
    Bench bench;
    const auto& machine = bench.make(small_spec());
    const auto facts = local::facts_from(machine.record());
    if (in_force(machine, "cgroup-memory")) {
        CHECK(limit(facts, "cmds/memory.max", "cmds/memory.limit_in_bytes") == "201326592\n");
    }
    if (in_force(machine, "cgroup-pids")) {
        CHECK(limit(facts, "cmds/pids.max", "cmds/pids.max") == "77\n");
    }
    if (in_force(machine, "cgroup-cpu")) {
        const auto quota = limit(facts, "cmds/cpu.max", "cmds/cpu.cfs_quota_us");
        CHECK((quota == "150000 100000\n" || quota == "150000\n"));
        if (quota == "150000\n") {
            CHECK(limit(facts, "cmds/cpu.cfs_period_us", "cmds/cpu.cfs_period_us") == "100000\n");
        }
    }
}

TEST_CASE("of a host that has too few processors a session has what its own are of all")
{
    for (const auto& [cpus, expected] :
         {std::pair(2.0, "200\n2048\n"), std::pair(0.25, "25\n256\n"),
          std::pair(0.01, "1\n10\n")}) {
        Bench bench;
        if (const auto facts = facts_with(bench, cpus)) {
            const auto weight = limit(*facts, "cpu.weight", "cpu.shares");
            CHECK(std::string(expected).find(weight) != std::string::npos);
            // Where the kernel has it.
            const auto of_disk = limit(*facts, "io.weight", "none");
            CHECK((of_disk == "none" || of_disk == "default " + weight));
        }
    }
}

TEST_CASE("the guest has a small limit of its own, and is in the cgroup that has it")
{
    Bench bench;
    const auto& machine = bench.make(small_spec());
    const auto facts = local::facts_from(machine.record());
    if (in_force(machine, "cgroup-memory")) {
        CHECK(limit(facts, "guest/memory.max", "guest/memory.limit_in_bytes") == "268435456\n");
    }
    for (const auto& cgroup : facts.cgroups) {
        CAPTURE(cgroup);
        std::istringstream members(read_text(cgroup + "/guest/cgroup.procs"));
        std::string pid;
        std::getline(members, pid);
        CHECK(pid == std::to_string(facts.pid));
    }
}

TEST_CASE("the guest has as many processors as its commands, and at least one")
{
    for (const auto& [cpus, expected] : {std::pair(2.0, "200000"), std::pair(0.25, "100000")}) {
        Bench bench;
        if (const auto facts = facts_with(bench, cpus)) {
            const auto quota = limit(*facts, "guest/cpu.max", "guest/cpu.cfs_quota_us");
            CHECK(quota.substr(0, quota.find_first_of(" \n")) == expected);
        }
    }
}
