#include "sandbox/guest/quota/home_area.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <stop_token>
#include <string>

using berth::guest::HomeArea;
using berth::guest::testing::Machine;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

std::string of_size(std::uint64_t size)
{
    std::string content(size, '\0');
    // Nothing that a file system could make smaller.
    std::uint32_t state = 1;
    for (char& c : content) {
        state = state * 1664525U + 1013904223U;
        c = static_cast<char>(state >> 24U);
    }
    return content;
}

std::uint64_t counted(const HomeArea& area)
{
    const auto room = area.count({}, 0);
    REQUIRE(room);
    return *room;
}

bool is_about(std::uint64_t room, std::uint64_t wanted)
{
    constexpr std::uint64_t tolerance = 64UL * 1024;
    return room >= wanted && room < wanted + tolerance;
}

} // namespace

TEST_CASE("the home's room is that of all its files, hidden ones and git's too")
{
    Machine machine;
    const HomeArea area(machine.home, {});
    CHECK(is_about(counted(area), 0));
    const std::string content = of_size(mebibyte);
    machine.put("plain", content);
    std::filesystem::create_directories(machine.home + "/.git/objects");
    machine.put(".git/objects/pack", content);
    machine.put(".gitignore", "*\n");
    machine.put(".hidden", content);
    CHECK(is_about(counted(area), 3 * mebibyte));
}

TEST_CASE("a file with several names is counted once, what links lead to is not")
{
    Machine machine;
    const HomeArea area(machine.home, {});
    machine.put("a", of_size(mebibyte));
    std::filesystem::create_hard_link(machine.home + "/a", machine.home + "/b");
    machine.link("a", "c");
    std::filesystem::create_directory_symlink(machine.base, machine.home + "/up");
    CHECK(is_about(counted(area), mebibyte));
}

TEST_CASE("a sparse file has what it has on the disk")
{
    Machine machine;
    const HomeArea area(machine.home, {});
    machine.put("sparse", "");
    std::filesystem::resize_file(machine.home + "/sparse", 1024 * mebibyte);
    CHECK(is_about(counted(area), 0));
}

TEST_CASE("what is mounted into the home does not count, and is not of it")
{
    Machine machine;
    std::filesystem::create_directories(machine.home + "/project/src");
    machine.put("project/src/large", of_size(mebibyte));
    machine.put("config", of_size(mebibyte));
    machine.put("own", of_size(mebibyte));
    const HomeArea area(machine.home, {machine.home + "/project", machine.home + "/config",
                                       machine.base + "/outside"});
    CHECK(is_about(counted(area), mebibyte));
    CHECK(area.contains(machine.home));
    CHECK(area.contains(machine.home + "/own"));
    CHECK(area.contains(machine.home + "/projects"));
    CHECK_FALSE(area.contains(machine.home + "/project"));
    CHECK_FALSE(area.contains(machine.home + "/project/src/large"));
    CHECK_FALSE(area.contains(machine.home + "/config"));
    CHECK_FALSE(area.contains(machine.home + "2/own"));
    CHECK_FALSE(area.contains(machine.base));
}

TEST_CASE("a count that is stopped, or of a home that is gone, says nothing")
{
    Machine machine;
    const HomeArea area(machine.home, {});
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(area.count(stop.get_token(), 0));
    std::filesystem::remove_all(machine.home);
    CHECK_FALSE(area.count({}, 0));
}
