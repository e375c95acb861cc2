#include "sandbox/local/own_folders.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

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
    if (::geteuid() == 0) {
        CHECK(has(own, "/run/berth"));
    }
    const TemporaryTree runtime;
    const char* before = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1); // NOLINT(concurrency-mt-unsafe)
    // Where the sockets of whoever has no /run/berth really are.
    CHECK(has(own_folders("/srv/state", ""), runtime_folder("/srv/state", false)));
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs
    (void)(before == nullptr ? ::unsetenv("XDG_RUNTIME_DIR")
                             : ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1));
}
