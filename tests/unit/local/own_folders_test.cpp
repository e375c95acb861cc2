#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/local/own_folders.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "sandbox/local/stale_sockets.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>
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
}

TEST_CASE("whoever was killed while it looked for sockets leaves none for long")
{
    const TemporaryTree host;
    host.add_directory("sockets");
    const auto folder = host.path() + "/sockets";
    REQUIRE(::mknod((folder + "/probe-0123456789abcdef").c_str(), S_IFSOCK | 0600, 0) == 0);
    REQUIRE(::mknod((folder + "/other").c_str(), S_IFREG | 0600, 0) == 0);
    remove_stale_sockets(folder, {}, berth::Deadline::after(std::chrono::seconds(10)));
    CHECK_FALSE(std::filesystem::exists(folder + "/probe-0123456789abcdef"));
    CHECK(std::filesystem::exists(folder + "/other"));
}

TEST_CASE("the sockets of an ordinary user are where a logout leaves them")
{
    const TemporaryTree host;
    const char* before = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    const std::string kept = before == nullptr ? "" : before;
    host.add_directory("runtime");
    const auto runtime = host.path() + "/runtime";
    ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1); // NOLINT(concurrency-mt-unsafe)

    host.add_directory("state");
    const auto state = host.path() + "/state";
    CHECK(runtime_folder(state, false) == state + "/sockets");
    CHECK(std::filesystem::is_empty(state + "/sockets"));
    CHECK(std::filesystem::is_empty(runtime));

    // Where that is not to be had; and that is berth's own too.
    std::filesystem::permissions(state + "/sockets", std::filesystem::perms(0755));
    CHECK(runtime_folder(state, false) == runtime + "/berth");
    const auto own = own_folders(state, "");
    CHECK(std::any_of(own.begin(), own.end(),
                      [&](const OwnFolder& each) { return each.path == runtime + "/berth"; }));

    ::unsetenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    CHECK_THROWS_WITH_AS((void)runtime_folder(state, false),
                         doctest::Contains((state + "/sockets cannot be made").c_str()),
                         berth::Error);
    if (!kept.empty()) {
        ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1); // NOLINT(concurrency-mt-unsafe)
    }
}
