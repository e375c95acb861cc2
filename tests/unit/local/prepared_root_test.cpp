// Roots that are put together before there is a machine to make.

#include "sandbox/base/io.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;

namespace {

RootParts parts_with(const std::string& source)
{
    RootParts parts;
    parts.directories = {"/mnt", "/dev/empty"};
    parts.binds = {{.source = source, .target = "/etc/ssl/one", .follow_links = true},
                   {.source = "/nowhere", .target = "/etc/none", .optional = true}};
    parts.files = {{"/etc/berth/bin/tool", "text", true}};
    parts.links = {{"/bin", "usr/bin"}};
    return parts;
}

LaunchSpec spec_with(const RootParts& base)
{
    LaunchSpec spec;
    spec.privileged = true;
    spec.host_uid = 54321;
    spec.host_gid = 54322;
    spec.base = protocol::encode(base);
    return spec;
}

std::size_t mounts()
{
    const auto text = test::read_text("/proc/self/mountinfo");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

PreparedRoot prepared(const RootParts& parts)
{
    auto root = PreparedRoot::make(protocol::encode(parts));
    REQUIRE(root.has_value());
    return std::move(*root);
}

} // namespace

TEST_CASE("a prepared root has the parts in it, and takes nothing new")
{
    test::Bench bench;
    const std::string source = bench.directory() + "/source";
    test::write_text(source, "of the host");
    const auto parts = parts_with(source);
    const auto before = mounts();
    auto root = PreparedRoot::make(protocol::encode(parts));
    if (!test::is_root()) {
        CHECK_FALSE(root.has_value());
        return;
    }
    REQUIRE(root.has_value());
    REQUIRE(root->clone_ahead());
    CHECK(mounts() == before);
    const UniqueFd mount = root->take_for(spec_with(parts));
    REQUIRE(mount.valid());
    CHECK(read_file_limited(mount.get(), "etc/ssl/one", 100) == "of the host");
    CHECK(read_file_limited(mount.get(), "etc/berth/bin/tool", 100) == "text");
    for (const char* path : {"mnt", "dev/empty", "etc/ssl", "etc/berth/bin/tool", "etc/ssl/one"}) {
        CAPTURE(path);
        struct stat status{};
        REQUIRE(::fstatat(mount.get(), path, &status, 0) == 0);
        CHECK(status.st_uid == 0); // no session's: they share it
    }
    for (const char* path : {"etc/new", "mnt/new", "etc/ssl/one", "etc/berth/bin/tool"}) {
        CAPTURE(path);
        CHECK(::openat(mount.get(), path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0);
        CHECK(errno == EROFS);
    }
    CHECK(::faccessat(mount.get(), "etc/none", F_OK, 0) != 0);
}

TEST_CASE("the file system of a prepared root is read-only itself, and one for all of its clones")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    const auto parts = parts_with(bench.directory());
    auto root = prepared(parts);
    struct stat seen[2]{};
    for (auto& each : seen) {
        REQUIRE(root.clone_ahead());
        const UniqueFd mount = root.take_for(spec_with(parts));
        REQUIRE(mount.valid());
        REQUIRE(::fstat(mount.get(), &each) == 0);
        // Without the flag of the mount, which a machine has in its hand.
        mount_attr writable{};
        writable.attr_clr = MOUNT_ATTR_RDONLY;
        REQUIRE(::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &writable, sizeof writable) == 0);
        CHECK(::mkdirat(mount.get(), "new", 0755) != 0);
        CHECK(errno == EROFS);
        CHECK_FALSE(root.take_for(spec_with(parts)).valid()); // once only
    }
    CHECK(seen[0].st_dev == seen[1].st_dev);
    CHECK(seen[0].st_ino == seen[1].st_ino);
}

TEST_CASE("a prepared root is not used where it has no place for a mount")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    const auto parts = parts_with(bench.directory());
    auto root = prepared(parts);
    const auto used_for = [&](const std::vector<std::string>& targets) {
        auto spec = spec_with(parts);
        for (const auto& target : targets) {
            spec.binds.push_back({.source = bench.directory(), .target = target});
        }
        return root.clone_ahead() && root.take_for(spec).valid();
    };
    CHECK(used_for({"/mnt"}));
    CHECK(used_for({"/mnt", "/mnt/new/one"})); // in the first
    CHECK_FALSE(used_for({"/mnt/new"}));
    CHECK_FALSE(used_for({"/mnt", "/mntnew"}));
    CHECK_FALSE(used_for({"/bin/x"})); // a link there leads out of the root
}

TEST_CASE("the keeper of a root ends with the last that can ask it")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    while (::waitpid(-1, nullptr, 0) > 0) { // of other tests
    }
    std::optional root = prepared(parts_with(bench.directory()));
    siginfo_t ended{};
    CHECK(::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
    CHECK(ended.si_pid == 0);
    root.reset();
    REQUIRE(::waitid(P_ALL, 0, &ended, WEXITED) == 0);
    CHECK(ended.si_code == CLD_EXITED);
    CHECK(ended.si_status == 0);
}

TEST_CASE("a prepared root is not used for another base, or after the host has changed")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    const std::string source = bench.directory() + "/source";
    test::write_text(source, "old");
    const auto parts = parts_with(source);
    auto root = prepared(parts);
    auto other = parts;
    other.files.front().content = "other";
    REQUIRE(root.clone_ahead());
    CHECK_FALSE(root.take_for(spec_with(other)).valid());
    // As ldconfig and package managers replace files: the mount would show the old one for ever.
    test::write_text(source + ".new", "new");
    REQUIRE(std::rename((source + ".new").c_str(), source.c_str()) == 0);
    CHECK_FALSE(root.take_for(spec_with(parts)).valid());
    auto again = prepared(parts);
    REQUIRE(again.clone_ahead());
    const UniqueFd mount = again.take_for(spec_with(parts));
    CHECK(read_file_limited(mount.get(), "etc/ssl/one", 100) == "new");
}

TEST_CASE("a prepared root is not used once something else is where it covers")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    const std::string folder = bench.directory() + "/service";
    auto parts = parts_with(bench.directory());
    parts.binds.front() = {.source = bench.directory(), .target = "/opt", .follow_links = true};
    parts.hidden = {{folder, "/opt/service"}};
    const auto used = [&](PreparedRoot& root) {
        REQUIRE(root.clone_ahead());
        return root.take_for(spec_with(parts)).valid();
    };
    auto without = prepared(parts);
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    CHECK_FALSE(used(without));
    auto with = prepared(parts);
    auto again = prepared(parts);
    CHECK(used(with));
    REQUIRE(std::rename(folder.c_str(), (folder + ".old").c_str()) == 0);
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    CHECK_FALSE(used(again));
}

TEST_CASE("a prepared root is out of date once a mount comes or goes")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    const std::string source = bench.directory() + "/folder";
    REQUIRE(::mkdir(source.c_str(), 0755) == 0);
    const auto parts = parts_with(source);
    std::vector<PreparedRoot> roots;
    for (int i = 0; i < 3; ++i) {
        roots.push_back(prepared(parts));
        REQUIRE(roots.back().is_current());
    }
    REQUIRE((roots[0].clone_ahead() && roots[1].clone_ahead()));
    const auto told = [&] {
        pollfd waiting{roots[0].mounts_fd(), POLLPRI, 0};
        return ::poll(&waiting, 1, 0) == 1;
    };
    CHECK_FALSE(told());
    REQUIRE(::mount("none", source.c_str(), "tmpfs", 0, nullptr) == 0);
    const bool seen = told();
    const bool refused = !roots[1].take_for(spec_with(parts)).valid();
    // Each looks for itself: whoever looks first must not keep it from the others.
    const bool not_cloned = !roots[2].clone_ahead();
    ::umount2(source.c_str(), MNT_DETACH);
    CHECK(seen);
    CHECK(refused);
    CHECK(not_cloned);
    for (const auto& root : roots) { // the keepers let go of it by themselves
        CHECK(tests::becomes_true([&] { return !root.is_current(); }));
    }
}

TEST_CASE("a keeper that was stopped is not waited for for long")
{
    if (!test::is_root()) {
        return;
    }
    test::Bench bench;
    auto root = prepared(parts_with(bench.directory()));
    pid_t keeper = -1;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto status = test::read_text(entry.path().string() + "/status");
        if (status.find("\nPPid:\t" + std::to_string(::getpid()) + "\n") != std::string::npos &&
            test::read_text(entry.path().string() + "/comm") == "berth-root\n") {
            keeper = std::max(keeper, std::stoi(entry.path().filename().string()));
        }
    }
    REQUIRE(keeper > 0);
    ::kill(keeper, SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(root.clone_ahead());
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    ::kill(keeper, SIGKILL);
    CHECK(tests::becomes_true([&] { return !root.is_current(); }));
}

TEST_CASE("what cannot be prepared is left to the launch, which says why")
{
    RootParts parts;
    parts.binds = {{.source = "/nowhere/at/all", .target = "/x"}};
    CHECK_FALSE(PreparedRoot::make(protocol::encode(parts)).has_value());
}

TEST_CASE("the server's umask does not decide what may be read inside")
{
    const mode_t before = ::umask(077);
    test::Bench bench;
    std::string modes[2];
    for (auto& each : modes) { // the second one has a root that was put together ahead
        bench.make();
        each = bench.run("stat -c '%a %n' / /etc /etc/passwd /etc/berth /mnt /dev 2>&1; umask");
        bench.destroy(true);
    }
    ::umask(before);
    CHECK(modes[0].find("755 /etc\n") != std::string::npos);
    CHECK(modes[0].find("0022") != std::string::npos);
    CHECK(modes[0] == modes[1]);
}
