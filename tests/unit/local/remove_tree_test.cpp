#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

void add_depth(const std::string& folder, int depth)
{
    int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (; depth > 0; --depth) {
        REQUIRE(::mkdirat(at, "d", 0755) == 0);
        const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::close(at);
        at = next;
    }
    ::close(at);
}

} // namespace

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
    add_depth(host.path() + "/tree", 3000);
    ::chmod((host.path() + "/tree").c_str(), 0);
    CHECK(remove_tree(AT_FDCWD, host.path() + "/tree"));
    CHECK_FALSE(std::filesystem::exists(host.path() + "/tree"));
}

TEST_CASE("what has a name that a folder from the depth may get, and the depth in it, is removed")
{
    const TemporaryTree host;
    const std::string tree = host.path() + "/tree";
    SUBCASE("folders alone")
    {
        for (const char* name : {".berth-deep-1", ".berth-deep-2", ".berth-deep-3"}) {
            std::filesystem::create_directories(tree + '/' + name);
            add_depth(tree + '/' + name, 200);
        }
    }
    SUBCASE("and a file")
    {
        host.add("tree/.berth-deep-1", "x");
        std::filesystem::create_directories(tree + "/.berth-deep-2");
        add_depth(tree + "/.berth-deep-2", 200);
    }
    CHECK(remove_tree(AT_FDCWD, tree));
    CHECK_FALSE(std::filesystem::exists(tree));
    std::filesystem::remove_all(tree);
}
