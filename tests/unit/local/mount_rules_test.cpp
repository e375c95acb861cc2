#include "sandbox/base/error.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

void check_source(const std::string& source, const std::vector<OwnFolder>& own)
{
    (void)checked_mounts({{source, "/mnt/x", false}}, own);
}

/// Root becomes somebody else until the end of the scope, however that comes.
class OrdinaryUser {
  public:
    OrdinaryUser()
    {
        if (before_ == 0) {
            REQUIRE(::seteuid(65534) == 0);
        }
    }

    ~OrdinaryUser()
    {
        if (::seteuid(before_) != 0) {
            std::abort(); // all that follows would be of another user
        }
    }

    OrdinaryUser(const OrdinaryUser&) = delete;
    OrdinaryUser& operator=(const OrdinaryUser&) = delete;

  private:
    uid_t before_ = ::geteuid();
};

} // namespace

TEST_CASE("a target must be plain and hide nothing")
{
    for (const char* good : {"/home/user/a", "/mnt", "/mnt/a b", "/workspace", "/tmp/x", "/usrx",
                             "/home/other", "/var/lib", "/..a", "/homeless"}) {
        CAPTURE(good);
        CHECK_NOTHROW(check_mount_target(good));
    }
    for (const char* bad : {"",
                            "a",
                            "/",
                            "//",
                            "/a/",
                            "/a//b",
                            "/./a",
                            "/a/..",
                            "/a/../etc",
                            "/home",
                            "/home/user",
                            "/tmp",
                            "/var",
                            "/var/tmp",
                            "/run",
                            "/run/berth/x",
                            "/proc",
                            "/proc/1",
                            "/dev/shm",
                            "/usr/local",
                            "/etc",
                            "/etc/passwd",
                            "/bin",
                            "/lib64/x",
                            "/opt/x",
                            "/sys",
                            "/var/tmp/berth"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(check_mount_target(bad), Error);
    }
    CHECK_THROWS_AS(check_mount_target(std::string("/a\0b", 4)), Error);
}

TEST_CASE("the host's devices cannot be mounted, which no other way to them changes")
{
    try {
        (void)checked_mounts({{"/dev", "/mnt/dev", true}}, {}, {});
        FAIL_CHECK("it is mounted");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) ==
              "mount source /dev belongs to a file system of the kernel");
        CHECK(error.hint() == "it cannot be mounted, only folders and files with data can");
    }
}

TEST_CASE("in what a template shows a mount has its place only on what is there")
{
    const TemporaryTree host;
    host.add_directory("folder");
    host.add_directory("template/var/lib/app");
    const std::vector<Bind> shown{
        {.source = host.path() + "/template/var/lib", .target = "/var/lib"}};
    const auto mount = [&](const std::string& target) {
        (void)checked_mounts({{host.path() + "/folder", target, true}}, {}, shown);
    };
    CHECK_NOTHROW(mount("/var/lib/app"));
    CHECK_NOTHROW(mount("/var/lib"));
    CHECK_NOTHROW(mount("/var/library"));
    CHECK_THROWS_AS(mount("/var/lib/other"), Error);
    // Of a link the host's view says nothing: inside it leads elsewhere, or nowhere.
    const auto lib = host.path() + "/template/var/lib/";
    std::filesystem::create_symlink(host.path() + "/folder", lib + "absolute");
    std::filesystem::create_symlink("app", lib + "relative");
    host.add_directory("template/var/lib/app/data");
    CHECK_NOTHROW(mount("/var/lib/app/data"));
    for (const char* target : {"/var/lib/absolute", "/var/lib/relative"}) {
        CHECK_THROWS_AS(mount(target), Error);
    }
    try {
        mount("/var/lib/relative/data");
        FAIL("it was taken");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) == "mount target /var/lib/relative/data cannot be reached: "
                                           "/var/lib/relative (on the host " +
                                               lib + "relative) is a symbolic link");
    }
}

TEST_CASE("a source must be there, real, and data")
{
    const TemporaryTree host;
    host.add("folder/file", "x");
    std::filesystem::create_symlink("folder", host.path() + "/link");
    ::mkfifo((host.path() + "/fifo").c_str(), 0600);
    CHECK_NOTHROW(check_source(host.path() + "/folder", {}));
    CHECK_NOTHROW(check_source(host.path() + "/folder/file", {}));
    for (const std::string& bad :
         {host.path() + "/missing", host.path() + "/link", host.path() + "/link/file",
          host.path() + "/fifo", host.path() + "/folder/..", std::string("/proc/self"),
          std::string("/sys"), std::string("folder"), std::string("/dev/null")}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(check_source(bad, {}), Error);
    }
    try {
        check_source(host.path() + "/link", {});
    } catch (const Error& error) {
        CHECK(error.hint().find(host.path() + "/folder") != std::string::npos);
    }
}

TEST_CASE("a source that who runs berth may not use is refused")
{
    const TemporaryTree host;
    host.add("open/closed/file", "x");
    host.add("open/secret", "x");
    namespace fs = std::filesystem;
    fs::permissions(host.path(), fs::perms{0755});
    fs::permissions(host.path() + "/open/closed", fs::perms::none);
    fs::permissions(host.path() + "/open/secret", fs::perms::none);
    const uid_t before = ::geteuid();
    std::vector<std::string> told;
    {
        const OrdinaryUser user;
        for (const char* name : {"/open", "/open/closed", "/open/secret", "/open/closed/file"}) {
            try {
                check_source(host.path() + name, {});
                told.emplace_back();
            } catch (const Error& error) {
                told.emplace_back(std::string(error.what()) + "; " + error.hint());
            }
        }
    }
    REQUIRE(::geteuid() == before);
    fs::permissions(host.path() + "/open/closed", fs::perms{0700});
    CHECK(told[0].empty());
    CHECK(told[1].find(") may not enter it") != std::string::npos);
    CHECK(told[2].find(") may not read it") != std::string::npos);
    CHECK(told[3].find("Permission denied; who runs berth (uid ") != std::string::npos);
    CHECK(told[3].find("must exist") == std::string::npos);
}

TEST_CASE("a source neither contains nor lies in a private folder")
{
    const TemporaryTree host;
    host.add("state/sessions/a/file", "x");
    host.add("state-not/file", "x");
    const std::vector<OwnFolder> own = {{host.path() + "/state", "--state-dir"}};
    CHECK_NOTHROW(check_source(host.path() + "/state-not", own));
    CHECK_NOTHROW(check_source(host.path() + "/state-not/file", own));
    for (const char* bad : {"", "/state", "/state/sessions", "/state/sessions/a/file"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(check_source(host.path() + bad, own), Error);
    }
    CHECK_THROWS_AS(check_source("/", own), Error);
}

TEST_CASE("a source does not hold the place of a private folder that is not there yet")
{
    const TemporaryTree host;
    host.add_directory("data/other");
    const std::vector<OwnFolder> own = {{host.path() + "/data/berth/workspace", "--workspace"}};
    CHECK_NOTHROW(check_source(host.path() + "/data/other", own));
    try {
        check_source(host.path() + "/data", own);
        FAIL("not refused");
    } catch (const Error& error) {
        CHECK(std::string(error.what()) == "mount source " + host.path() +
                                               "/data contains or lies in berth's own folder " +
                                               own.front().path);
        CHECK(error.hint() == "take another folder, or move berth's with --workspace");
    }
}

TEST_CASE("what root's sandboxes may only read must be open to all, or could not be read")
{
    const TemporaryTree host;
    host.add("folder/file", "x");
    const auto folder = host.path() + "/folder";
    const auto file = folder + "/file";
    const auto refusal = [&](const std::string& source, bool writable, bool own_uids) {
        try {
            (void)checked_mounts({{source, "/mnt/x", writable}}, {}, {}, own_uids);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            return error.what() + ("; " + error.hint());
        }
        return std::string();
    };
    namespace fs = std::filesystem;
    fs::permissions(folder, fs::perms::owner_all | fs::perms::group_all);
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
    CHECK(refusal(folder, false, true) ==
          "mount source " + folder +
              ": its mode lets only its owner or group enter it, and what runs in the sandbox has "
              "another uid; `chmod o+rx " +
              folder + "` on the host, or mount it writable (:rw, mount_mode)");
    CHECK(refusal(file, false, true).find("chmod o+r " + file) != std::string::npos);
    for (const auto& source : {folder, file}) {
        CHECK(refusal(source, true, true).empty());
        CHECK(refusal(source, false, false).empty());
    }
    fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add);
    fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
    CHECK(refusal(folder, false, true).empty());
    CHECK(refusal(file, false, true).empty());
}

TEST_CASE("mounts come parents first and never twice at one place")
{
    const TemporaryTree host;
    host.add_directory("a");
    const auto& a = host.path();
    const auto sorted =
        checked_mounts({{a, "/mnt/x/y", false}, {a, "/mnt/x", true}, {a, "/a", false}}, {}).mounts;
    CHECK(sorted.at(0).target == "/a");
    CHECK(sorted.at(1).target == "/mnt/x");
    CHECK(sorted.at(1).writable);
    CHECK_THROWS_AS((void)checked_mounts({{a, "/mnt/x", false}, {a, "/mnt/x", true}}, {}), Error);
}

TEST_CASE("a mount in a read-only one needs its place there")
{
    const TemporaryTree host;
    host.add("outer/folder/x", "x");
    host.add("inner/x", "x");
    const auto outer = host.path() + "/outer";
    const auto inner = host.path() + "/inner";
    const auto check = [&](const std::string& source, bool writable, const std::string& target) {
        try {
            (void)checked_mounts({{inner, target, true}, {source, "/mnt/a", writable}}, {});
        } catch (const Error& error) {
            return std::string(error.what()) + "; " + error.hint();
        }
        return std::string();
    };
    CHECK(check(outer, false, "/mnt/a/folder").empty());
    CHECK(check(outer, true, "/mnt/a/none").empty());
    CHECK(check(outer, false, "/mnt/ab").empty());
    CHECK(
        check(outer, false, "/mnt/a/none") ==
        "mount target /mnt/a/none lies in the read-only mount on /mnt/a, where there is no folder "
        "to mount it on; make the folder " +
            outer + "/none on the host, or mount it elsewhere");
    CHECK_FALSE(check(outer, true, "/mnt/a/folder/x").empty()); // a file
}
