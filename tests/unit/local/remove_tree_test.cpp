#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth::local;
using berth::local::test::TemporaryTree;

TEST_CASE("links are removed, what they lead to is not")
{
    const TemporaryTree host;
    host.add("outside/file", "x");
    host.add("tree/file", "x");
    std::filesystem::create_symlink("../outside", host.path() + "/tree/link");
    std::filesystem::create_symlink("outside", host.path() + "/link");
    CHECK(remove_tree(AT_FDCWD, host.path() + "/tree"));
    CHECK(remove_tree(AT_FDCWD, host.path() + "/link"));
    CHECK(remove_tree(AT_FDCWD, host.path() + "/missing"));
    CHECK_FALSE(std::filesystem::exists(host.path() + "/tree"));
    CHECK(std::filesystem::exists(host.path() + "/outside/file"));
}

TEST_CASE("closed folders are opened and any depth is reached")
{
    const TemporaryTree host;
    host.add("tree/closed/inner/file", "x");
    ::chmod((host.path() + "/tree/closed/inner").c_str(), 0);
    ::chmod((host.path() + "/tree/closed").c_str(), 0);
    // In the way of the name that a folder from the depth would get.
    host.add("tree/.berth-deep-1/file", "x");
    int at = ::open((host.path() + "/tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int depth = 0; depth < 3000; ++depth) {
        REQUIRE(::mkdirat(at, "d", 0755) == 0);
        const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::close(at);
        at = next;
    }
    ::close(at);
    ::chmod((host.path() + "/tree").c_str(), 0);
    CHECK(remove_tree(AT_FDCWD, host.path() + "/tree"));
    CHECK_FALSE(std::filesystem::exists(host.path() + "/tree"));
}
