#include "sandbox/local/own_folders.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace berth::local;
using berth::local::test::TemporaryTree;

TEST_CASE("a place is told without links, as far as it is there")
{
    const TemporaryTree host;
    host.add_directory("real/folder");
    std::filesystem::create_symlink("real", host.path() + "/link");
    CHECK(real_place(host.path() + "/link/folder") == host.path() + "/real/folder");
    CHECK(real_place(host.path() + "/link/new/folder") == host.path() + "/real/new/folder");
    CHECK(real_place("/") == "/");
    CHECK(real_place("/berth-is-not-here") == "/berth-is-not-here");
}

TEST_CASE("the state, the workspace and the sockets are berth's own")
{
    const auto has = [](const std::vector<OwnFolder>& own, const std::string& path) {
        return std::any_of(own.begin(), own.end(),
                           [&](const OwnFolder& each) { return each.path == path; });
    };
    const auto own = own_folders("/srv/state", "/data/workspace");
    CHECK(has(own, "/srv/state"));
    CHECK(has(own, "/data/workspace"));
    CHECK_FALSE(has(own_folders("/srv/state", ""), ""));
}
