// The doctor on this host, and its probes where what they probe is not there.

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/doctor.hpp"
#include "sandbox/local/doctor_probes.hpp"
#include "sandbox/local/project_kernel.hpp"
#include "tests/unit/local/host_cgroups.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using namespace berth::local::test;

namespace {

/// What this host and user cannot have.
std::set<std::string> not_to_be_had()
{
    std::set<std::string> names;
    if (!is_root()) {
        names.insert("uid");
    }
    if (host_delegates_by_namespace() && host_has_cgroup2()) {
        names.insert("cgroupns");
    }
    for (const std::string controller : {"memory", "pids", "cpu"}) {
        if (!host_limits(controller)) {
            names.insert("cgroup-" + controller);
        }
    }
    if (!host_has_cgroup2()) {
        names.insert("cgroup-kill");
    }
    constexpr long with_moves = 2; // Linux 5.19
    if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) <
        with_moves) {
        names.insert("landlock"); // Debian's kernel as a program has none
    }
    const UniqueFd disk(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); // of every Bench
    if (!is_root() || !linux_projects().obstacle(disk.get()).empty()) {
        names.insert("quota");
    }
    return names;
}

/// Somebody's own build on a desktop, say: their cgroups may be delegated to them, or not.
bool may_have_cgroups()
{
    return !is_root() && program("BERTH_TEST_AS_USER").empty();
}

void expect_checks(const std::vector<Check>& checks, const std::set<std::string>& failing)
{
    std::set<std::string> names;
    for (const auto& check : checks) {
        CAPTURE(check.name);
        CAPTURE(check.detail);
        if (!may_have_cgroups() || !check.name.starts_with("cgroup")) {
            CHECK(check.ok != failing.contains(check.name));
        }
        CHECK_FALSE(check.detail.empty());
        CHECK(names.insert(check.name).second);
    }
    const auto known = check_names();
    CHECK(names == std::set<std::string>(known.begin(), known.end()));
    for (const char* name : {"sandbox",     "userns", "nested-userns", "pidns",       "mountns",
                             "ipcns",       "utsns",  "cgroupns",      "netns",       "seccomp",
                             "landlock",    "uid",    "cgroup-memory", "cgroup-pids", "cgroup-cpu",
                             "cgroup-kill", "guest",  "proc-masks",    "quota",       "attempts"}) {
        CAPTURE(name);
        CHECK(names.contains(name));
    }
}

/// Runs the script as root of a user namespace in which nothing else is confined: the namespaces
/// are the host's but for what keeps the host whole, and its first process is a bash like any.
std::string unconfined(const Bench& bench, const std::string& script)
{
    const std::string folder = bench.directory();
    write_text(folder + "/probe", script);
    write_text(folder + "/prepare", R"(set -e
mkdir -p "$1/host" "$1/usr"
mount --rbind /usr "$1/host"
mount -t tmpfs none "$1/usr"
for entry in "$1"/host/*; do ln -s "$entry" "$1/usr/"; done
! [ -e /proc/sysrq-trigger ] || mount --bind /dev/null /proc/sysrq-trigger
mount -t tmpfs none /tmp
mount --bind "$1/usr" /usr
echo prepared
timeout 30 bash "$1/probe"
true)");
    FILE* pipe = ::popen(("unshare --user --map-root-user --mount --pid --fork --kill-child "
                          "--mount-proc bash " +
                          folder + "/prepare " + folder)
                             .c_str(),
                         "re");
    REQUIRE(pipe != nullptr);
    std::string text(1UL << 16U, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), pipe));
    ::pclose(pipe);
    return text;
}

} // namespace

TEST_CASE("every layer holds on this host but those that it cannot have")
{
    Bench bench;
    const auto backend = backend_with_guest(bench);
    expect_checks(run_doctor(*backend), not_to_be_had());
}

TEST_CASE("with the host's network the doctor finds no network namespace")
{
    Bench bench;
    const auto backend = backend_with_guest(bench);
    auto failing = not_to_be_had();
    failing.insert("netns");
    expect_checks(run_doctor(*backend, sandbox::Network::host), failing);
}

TEST_CASE("no probe says that a layer holds which is not there")
{
    const auto probes = doctor_probes();
    CHECK(probes.size() == 15);
    for (const auto& probe : probes) {
        Bench bench;
        CAPTURE(std::string(probe.layer));
        const auto told = unconfined(bench, probe.script);
        CAPTURE(told);
        CHECK(told.starts_with("prepared\n"));
        CHECK_FALSE(told.ends_with("held\n"));
    }
}

TEST_CASE("a probe whose programs are missing says that it tried nothing")
{
    Bench bench;
    bench.make(Bench::spec());
    for (const auto& probe : doctor_probes()) {
        CAPTURE(std::string(probe.layer));
        CHECK(bench.run("PATH=/none; " + probe.script) == "untried\n");
    }
}
