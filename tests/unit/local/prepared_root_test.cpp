// Roots that the launcher puts together before there is a machine to make.

#include "sandbox/base/io.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
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
    spec.base = base;
    return spec;
}

std::size_t mounts()
{
    const auto text = test::read_text("/proc/self/mountinfo");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST_CASE("a prepared root has the parts in it, and folders that the session's user may add to")
{
    test::Bench bench;
    const std::string source = bench.directory() + "/source";
    test::write_text(source, "of the host");
    const auto parts = parts_with(source);
    const auto before = mounts();
    auto root = PreparedRoot::make(parts);
    if (!test::is_root()) {
        CHECK_FALSE(root.has_value());
        return;
    }
    REQUIRE(root.has_value());
    CHECK(mounts() == before);
    const UniqueFd mount = root->take_for(spec_with(parts));
    REQUIRE(mount.valid());
    CHECK(read_file_limited(mount.get(), "etc/ssl/one", 100) == "of the host");
    CHECK(read_file_limited(mount.get(), "etc/berth/bin/tool", 100) == "text");
    for (const char* folder : {".", "mnt", "dev", "dev/empty", "etc", "etc/ssl", "etc/berth/bin"}) {
        CAPTURE(folder);
        struct stat status{};
        REQUIRE(::fstatat(mount.get(), folder, &status, 0) == 0);
        CHECK(status.st_uid == 54321);
        CHECK(status.st_gid == 54322);
    }
    struct stat status{};
    REQUIRE(::fstatat(mount.get(), "etc/ssl/one", &status, 0) == 0);
    CHECK(status.st_uid == 0); // the host's own, and read-only
    CHECK(::openat(mount.get(), "etc/ssl/one", O_WRONLY | O_CLOEXEC) < 0);
    CHECK(errno == EROFS);
    CHECK(::faccessat(mount.get(), "etc/none", F_OK, 0) != 0);
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
    auto root = PreparedRoot::make(parts);
    REQUIRE(root.has_value());
    auto other = parts;
    other.files.front().content = "other";
    CHECK_FALSE(root->take_for(spec_with(other)).valid());
    // As ldconfig and package managers replace files: the mount would show the old one for ever.
    test::write_text(source + ".new", "new");
    REQUIRE(std::rename((source + ".new").c_str(), source.c_str()) == 0);
    CHECK_FALSE(root->take_for(spec_with(parts)).valid());
    auto again = PreparedRoot::make(parts);
    REQUIRE(again.has_value());
    const UniqueFd mount = again->take_for(spec_with(parts));
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
    const auto used = [&](PreparedRoot& root) { return root.take_for(spec_with(parts)).valid(); };
    auto without = PreparedRoot::make(parts);
    REQUIRE(without.has_value());
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    CHECK_FALSE(used(*without));
    auto with = PreparedRoot::make(parts);
    auto again = PreparedRoot::make(parts);
    REQUIRE((with.has_value() && again.has_value()));
    CHECK(used(*with));
    REQUIRE(std::rename(folder.c_str(), (folder + ".old").c_str()) == 0);
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    CHECK_FALSE(used(*again));
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
    auto root = PreparedRoot::make(parts);
    REQUIRE(root.has_value());
    const auto told = [&] {
        pollfd waiting{root->mounts_fd(), POLLPRI, 0};
        return ::poll(&waiting, 1, 0) == 1;
    };
    CHECK_FALSE(told());
    REQUIRE(::mount("none", source.c_str(), "tmpfs", 0, nullptr) == 0);
    const bool seen = told();
    const bool refused = !root->take_for(spec_with(parts)).valid();
    ::umount2(source.c_str(), MNT_DETACH);
    CHECK(seen);
    CHECK(refused);
}

TEST_CASE("what cannot be prepared is left to the launch, which says why")
{
    RootParts parts;
    parts.binds = {{.source = "/nowhere/at/all", .target = "/x"}};
    CHECK_FALSE(PreparedRoot::make(parts).has_value());
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
