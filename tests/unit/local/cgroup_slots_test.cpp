#include "sandbox/local/cgroup_slots.hpp"
#include "sandbox/local/session_folder.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>

using namespace berth::local;
using berth::local::test::TemporaryTree;

TEST_CASE("a slot is told from a machine's id, and from what leads elsewhere")
{
    CHECK(is_slot(new_slot()));
    CHECK(new_slot() != new_slot());
    for (const char* other :
         {"", "ahead", "0123456789abcdef", "ahead0123456789abcde", "ahead0123456789abcdeg",
          "ahead0123456789abcdef0", "ahead/../../../../etc", "ahead0123456789abcd/.."}) {
        CAPTURE(other);
        CHECK_FALSE(is_slot(other));
    }
}

TEST_CASE("a session's folder names its machine's cgroups only by a slot")
{
    const TemporaryTree state;
    const SessionFolder folder(state.path(), "key");
    const auto told = [&] { return SessionFolder::cgroup(state.path(), "key", "id"); };
    CHECK(told() == "id");
    const auto slot = new_slot();
    folder.set_generation("first");
    folder.set_cgroup(slot, "id", "first");
    CHECK(told() == slot);
    folder.set_cgroup("", "id", "first");
    CHECK(told() == "id");
    folder.set_cgroup("../../user.slice", "id", "first");
    CHECK(told() == "id");
    folder.set_cgroup(slot, "id", "first");
    folder.forget_generation();
    CHECK(told() == "id");
}

TEST_CASE("nor is a note believed that is not of the machine that is the latest there")
{
    const TemporaryTree state;
    const SessionFolder folder(state.path(), "key");
    folder.set_generation("first");
    folder.set_cgroup(new_slot(), "id", "first");
    // Of a state directory that was copied.
    CHECK(SessionFolder::cgroup(state.path(), "key", "the copy's") == "the copy's");
    folder.set_generation("of a release that knows no slots");
    CHECK(SessionFolder::cgroup(state.path(), "key", "id") == "id");
}

TEST_CASE("slots without a guest are removed, and nothing else")
{
    const TemporaryTree host;
    CgroupLayout layout;
    layout.v1.pids = host.path();
    const std::string left = new_slot();
    const std::string lived_in = new_slot();
    host.add("berth/" + lived_in + "/guest/cgroup.procs", "17\n");
    // Folders of a cgroup file system are removed with their files, others are not.
    for (const auto& folder : {left, left + "/cmds", std::string("0123456789abcdef")}) {
        host.add_directory("berth/" + folder);
    }
    remove_abandoned_slots(layout, berth::Deadline());
    CHECK_FALSE(std::filesystem::exists(host.path() + "/berth/" + left));
    CHECK(std::filesystem::exists(host.path() + "/berth/" + lived_in + "/guest/cgroup.procs"));
    CHECK(std::filesystem::exists(host.path() + "/berth/0123456789abcdef"));
}

TEST_CASE("of a slot without the one that a guest is born in only what is abandoned is removed")
{
    const TemporaryTree host;
    CgroupLayout layout;
    layout.v1.pids = host.path();
    const std::string begun = new_slot();
    const std::string half = new_slot();
    host.add_directory("berth/" + begun);
    host.add_directory("berth/" + half + "/cmds/run");
    host.add_directory("berth/" + new_slot() + "/proxy"); // was there longer than the others
    remove_abandoned_slots(layout, berth::Deadline());
    CHECK_FALSE(std::filesystem::exists(host.path() + "/berth"));
}

TEST_CASE("a launch whose slot somebody took away is told from one that fails of itself")
{
    LaunchResult result;
    result.step = "cgroup";
    result.error = ENODEV;
    CHECK(is_lost_slot(result));
    result.step = "namespaces";
    CHECK(is_lost_slot(result));
    result.error = EPERM;
    CHECK_FALSE(is_lost_slot(result));
    result = {};
    result.step = "mounts";
    result.error = ENOENT;
    CHECK_FALSE(is_lost_slot(result));
    result = {};
    result.ok = true;
    CHECK_FALSE(is_lost_slot(result));
}
