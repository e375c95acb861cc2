// How launchers are started, kept waiting and ended.

#include "sandbox/local/launchers.hpp"
#include "sandbox/local/plan.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <set>
#include <string>

#include <dirent.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;

namespace {

std::set<pid_t> children()
{
    std::set<pid_t> found;
    DIR* tasks = ::opendir("/proc/self/task");
    while (const dirent* task = ::readdir(tasks)) {
        std::ifstream list("/proc/self/task/" + std::string(task->d_name) + "/children");
        for (pid_t pid = 0; list >> pid;) {
            found.insert(pid);
        }
    }
    ::closedir(tasks);
    return found;
}

LaunchSpec probe()
{
    return make_probe(false, ::geteuid(), ::getegid());
}

} // namespace

TEST_CASE("one launcher waits after a launch, and none is left in the end")
{
    {
        Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
        CHECK(children().empty());
        CHECK(launchers.launch(probe(), -1).ok);
        CHECK(tests::becomes_true([] { return children().size() == 1; }));
        const auto waiting = children();
        CHECK(launchers.launch(probe(), -1).ok);
        // It was used, and another one has taken its place.
        CHECK(tests::becomes_true([&] { return children().size() == 1 && children() != waiting; }));
    }
    CHECK(children().empty());
}

TEST_CASE("a waiting launcher that someone killed is replaced")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    CHECK(launchers.launch(probe(), -1).ok);
    REQUIRE(tests::becomes_true([] { return children().size() == 1; }));
    ::kill(*children().begin(), SIGKILL);
    CHECK(tests::becomes_true([&] { return launchers.launch(probe(), -1).ok; }));
}

TEST_CASE("what failed inside is told, and the next launch is not harmed by it")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    LaunchSpec wrong = probe();
    wrong.binds.push_back({.source = "/nowhere/at/all", .target = "/nowhere"});
    const auto result = launchers.launch(wrong, -1);
    CHECK_FALSE(result.ok);
    CHECK(result.step == "mounts");
    CHECK(result.text.find("/nowhere/at/all") != std::string::npos);
    CHECK(launchers.launch(probe(), -1).ok);
}
