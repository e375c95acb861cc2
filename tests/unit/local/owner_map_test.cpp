// Writable mounts of root's machines: whose files are in them.

#include "sandbox/base/error.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

/// A file system that is mounted nowhere else. Of this kernel: its type can map no ids.
class Ramfs {
  public:
    explicit Ramfs(std::string place) : place_(std::move(place))
    {
        mounted_ = ::mkdir(place_.c_str(), 0755) == 0 &&
                   ::mount("none", place_.c_str(), "ramfs", 0, "mode=755") == 0;
    }

    ~Ramfs()
    {
        if (mounted_) {
            ::umount2(place_.c_str(), MNT_DETACH);
        }
    }

    Ramfs(const Ramfs&) = delete;
    Ramfs& operator=(const Ramfs&) = delete;

    [[nodiscard]] bool mounted() const noexcept { return mounted_; }

  private:
    std::string place_;
    bool mounted_ = false;
};

void expect_owner(const std::string& path)
{
    CAPTURE(path);
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    CHECK(status.st_uid == 1234);
    CHECK(status.st_gid == 1235);
}

} // namespace

TEST_CASE("what is made in a folder of another user than the server's belongs to that user")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    const std::string source = bench.directory() + "/project";
    REQUIRE(::mkdir(source.c_str(), 0755) == 0);
    write_text(source + "/theirs", "content");
    write_text(source + "/of-root", "content");
    for (const std::string& path : {source, source + "/theirs"}) {
        REQUIRE(::chown(path.c_str(), 1234, 1235) == 0);
    }
    auto spec = Bench::spec();
    spec.mounts = {{source, "/home/user/w", true}};
    bench.make(spec);
    CHECK(bench.run("stat -c %u:%g w w/theirs; mkdir w/folder; echo x >w/folder/file; "
                    "ln -s file w/link; echo x >>w/theirs && cat w/theirs") ==
          "1000:1000\n1000:1000\ncontentx\n");
    // What is not the folder's owner's is nobody's inside.
    CHECK(bench.run("stat -c %u w/of-root; (echo x >>w/of-root) 2>/dev/null || echo refused") ==
          "65534\nrefused\n");
    for (const char* name : {"/theirs", "/folder", "/folder/file", "/link"}) {
        expect_owner(source + name);
    }
}

TEST_CASE("a file system that maps no ids can be mounted read-only, and is named where not")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    const std::string source = bench.directory() + "/ramfs";
    const Ramfs ramfs(source);
    REQUIRE(ramfs.mounted());
    write_text(source + "/file", "content");
    auto spec = Bench::spec();
    spec.mounts = {{source, "/mnt/x", true}};
    try {
        bench.make(spec);
        FAIL("mounted");
    } catch (const Error& error) {
        const std::string what = error.what();
        CAPTURE(what);
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        CHECK(what.find("its file system cannot map ids") != std::string::npos);
        CHECK(what.find("map the owner of the files in " + source) != std::string::npos);
        CHECK(error.hint().starts_with("mount it read-only"));
        // The folder is root's, and so is this process.
        CHECK(error.hint().find("folder's owner") == std::string::npos);
    }
    spec.mounts.front().writable = false;
    bench.make(spec);
    CHECK(bench.run("cat /mnt/x/file; (touch /mnt/x/new) 2>&1 | grep -c Read-only") ==
          "content1\n");
    bench.destroy();
}
