#include "sandbox/local/home_limit.hpp"
#include "tests/unit/guest/files/fixture.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

// The logic, with a kernel that only writes down what it is told. The real one: tests/uml_quota.sh.

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

using FileId = std::pair<dev_t, ino_t>;

FileId id_of(int fd)
{
    struct stat status{};
    REQUIRE(::fstat(fd, &status) == 0);
    return {status.st_dev, status.st_ino};
}

class FakeProjects final : public ProjectKernel {
  public:
    [[nodiscard]] std::string obstacle(int /*fd*/) override { return obstacle_text; }

    [[nodiscard]] ProjectMark mark(int fd) override { return marks[id_of(fd)]; }

    void set_mark(int fd, const ProjectMark& mark) override
    {
        if (fail_after-- == 0) {
            throw std::runtime_error("the disk is broken");
        }
        last = id_of(fd);
        marks[last] = mark;
    }

    [[nodiscard]] bool is_unused(int /*fd*/, std::uint32_t id) override
    {
        asked.insert(id);
        return asked.size() > in_use;
    }

    [[nodiscard]] std::uint64_t limit(int /*fd*/, std::uint32_t id) override { return limits[id]; }

    void set_limit(int /*fd*/, std::uint32_t id, std::uint64_t bytes) override
    {
        limits[id] = bytes;
    }

    std::string obstacle_text;
    std::map<FileId, ProjectMark> marks;
    FileId last;
    std::map<std::uint32_t, std::uint64_t> limits;
    std::set<std::uint32_t> asked;
    std::size_t in_use = 0; ///< so many ids that are asked for are others'
    int fail_after = -1;
};

/// A session's folder with a home.
struct Session {
    Session() { tree.add_directory("home"); }

    [[nodiscard]] ProjectMark mark(const std::string& name = "home")
    {
        const UniqueFd fd(
            ::open((tree.path() + "/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        REQUIRE(fd.valid());
        const auto found = kernel.marks.find(id_of(fd.get()));
        return found == kernel.marks.end() ? ProjectMark() : found->second;
    }

    std::string limit(std::uint64_t bytes) { return limit_home(kernel, folder.get(), bytes); }

    [[nodiscard]] std::uint64_t in_force() { return kernel.limits[mark().id]; }

    void expect_marked(const std::string& name, bool inherited)
    {
        CAPTURE(name);
        CHECK(mark(name) == ProjectMark{.id = mark().id, .inherited = inherited});
    }

    TemporaryTree tree;
    UniqueFd folder{::open(tree.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    FakeProjects kernel;
};

} // namespace

TEST_CASE("home limit: a home is a project of its own, with a limit in whole blocks")
{
    Session session;
    CHECK(session.limit(mebibyte + 1).empty());
    CHECK((session.mark().id >> 24U) == 0x62);
    CHECK(session.mark().inherited);
    CHECK(session.in_force() > mebibyte);
    CHECK(session.in_force() % 1024 == 0);
    CHECK(session.in_force() <= 2 * mebibyte);
    const auto id = session.mark().id;
    CHECK(session.limit(3 * mebibyte).empty());
    CHECK(session.mark().id == id);
    CHECK(session.in_force() == 3 * mebibyte);
}

TEST_CASE("home limit: an id that something counts for is not taken")
{
    Session session;
    session.kernel.in_use = 3;
    CHECK(session.limit(mebibyte).empty());
    CHECK(session.kernel.asked.size() == 4);
    Session crowded;
    crowded.kernel.in_use = 1000;
    CHECK(crowded.limit(mebibyte).find("no project id") != std::string::npos);
    CHECK(crowded.mark() == ProjectMark());
}

TEST_CASE("home limit: what a home has by then counts too, and nothing outside of it")
{
    Session session;
    const auto& tree = session.tree;
    tree.add("home/file", "x");
    tree.add("home/a/b/file", "x");
    tree.add("tmp/file", "x");
    tree.add("outside/file", "x");
    ::chmod((tree.path() + "/home/a/b/file").c_str(), 0);
    std::filesystem::create_symlink("../outside", tree.path() + "/home/folder");
    std::filesystem::create_symlink("../outside/file", tree.path() + "/home/a/link");
    REQUIRE(::mkfifo((tree.path() + "/home/a/pipe").c_str(), 0600) == 0);
    if (::geteuid() != 0) {
        ::chmod((tree.path() + "/home/a/b/file").c_str(), 0400); // only root may open it
    }
    CHECK(session.limit(mebibyte).empty());
    session.expect_marked("home/file", false);
    session.expect_marked("home/a", true);
    session.expect_marked("home/a/b", true);
    ::chmod((tree.path() + "/home/a/b/file").c_str(), 0400);
    session.expect_marked("home/a/b/file", false);
    for (const std::string name : {"outside", "outside/file", "tmp", "tmp/file", "."}) {
        CAPTURE(name);
        CHECK(session.mark(name) == ProjectMark());
    }
}

TEST_CASE("home limit: any depth is reached")
{
    Session session;
    int at = ::open((session.tree.path() + "/home").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr int depth = 3000;
    for (int i = 0; i < depth; ++i) {
        REQUIRE(::mkdirat(at, "d", 0755) == 0);
        const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::close(at);
        at = next;
    }
    CHECK(session.limit(mebibyte).empty());
    CHECK(session.kernel.marks[id_of(at)].inherited);
    ::close(at);
    CHECK(session.kernel.marks.size() == depth + 1);
}

TEST_CASE("home limit: the home's mark is the last, so a walk that broke off is made again")
{
    Session session;
    session.tree.add("home/a/file", "x");
    session.tree.add("home/b/file", "x");
    session.kernel.fail_after = 3;
    CHECK(session.limit(mebibyte) == "the disk is broken");
    CHECK(session.mark() == ProjectMark());
    session.kernel.fail_after = -1;
    CHECK(session.limit(mebibyte).empty());
    for (const std::string folder : {"home/a", "home/b"}) {
        session.expect_marked(folder, true);
        session.expect_marked(folder + "/file", false);
    }
    const UniqueFd home(
        ::open((session.tree.path() + "/home").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK(session.kernel.last == id_of(home.get()));
}

TEST_CASE("home limit: what is mounted into a home is left as it is")
{
    Session session;
    session.tree.add_directory("home/mounted");
    session.tree.add_directory("home/plain");
    session.tree.add("outside/file", "x");
    CHECK(guest::testing::in_own_mounts([&] {
              // As it is seen here. A bind mount, so it is the same file system.
              session.folder.reset(
                  ::open(session.tree.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
              const auto from = session.tree.path() + "/outside";
              const auto to = session.tree.path() + "/home/mounted";
              REQUIRE(::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0);
              const bool limited = session.limit(mebibyte).empty();
              session.expect_marked("home/plain", true);
              CHECK(session.mark("outside/file") == ProjectMark());
              return limited && session.mark("outside") == ProjectMark() ? 0 : 1;
          }) == 0);
}

TEST_CASE("home limit: where the kernel keeps none nothing is marked, and the reason is told")
{
    Session session;
    session.kernel.obstacle_text = "no prjquota";
    CHECK(session.limit(mebibyte) == "no prjquota");
    CHECK(session.kernel.marks.empty());
    CHECK(session.kernel.limits.empty());
}

TEST_CASE("home limit: a home that an operator has given a project stays in that")
{
    Session session;
    const UniqueFd home(
        ::open((session.tree.path() + "/home").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const ProjectMark theirs{.id = 7, .inherited = true};
    session.kernel.set_mark(home.get(), theirs);
    session.kernel.limits[7] = 5;
    CHECK(session.limit(mebibyte).find("project 7") != std::string::npos);
    CHECK(session.mark() == theirs);
    CHECK(session.kernel.limits[7] == 5);
    CHECK_FALSE(change_home_limit(session.kernel, AT_FDCWD, session.tree.path(), mebibyte));
    drop_home_limit(session.kernel, session.folder.get());
    CHECK(session.kernel.limits[7] == 5);
}

TEST_CASE("home limit: one that is not wanted any more, or cannot be told, is taken away")
{
    Session session;
    CHECK(session.limit(mebibyte).empty());
    CHECK_FALSE(session.limit(0).empty());
    CHECK(session.in_force() == 0);
    CHECK(session.limit(mebibyte).empty());
    CHECK(session.limit(~0ULL).find("the disk") != std::string::npos);
    CHECK(session.in_force() == 0);
    CHECK(session.limit(mebibyte).empty());
    drop_home_limit(session.kernel, session.folder.get());
    CHECK(session.in_force() == 0);
}

TEST_CASE("home limit: of a living machine it changes where the kernel keeps one")
{
    Session session;
    const auto change = [&](std::uint64_t bytes) {
        return change_home_limit(session.kernel, session.folder.get(), ".", bytes);
    };
    CHECK_FALSE(change(mebibyte)); // nothing has a mark
    CHECK(session.limit(mebibyte).empty());
    CHECK(change(2 * mebibyte));
    CHECK(session.in_force() == 2 * mebibyte);
    CHECK_FALSE(change(0));
    CHECK_FALSE(change(~0ULL));
    CHECK(session.in_force() == 2 * mebibyte);
    session.kernel.obstacle_text = "switched off";
    CHECK_FALSE(change(mebibyte));
    session.kernel.obstacle_text.clear();
    CHECK_FALSE(session.limit(0).empty());
    CHECK_FALSE(change(mebibyte)); // the machine was made without a limit
}

TEST_CASE("home limit: the remedy names the state directory, as a word of a shell where it is one")
{
    const TemporaryTree tree;
    tree.add_directory("it's");
    const auto remedy = home_limit_remedy(tree.path() + "/it's");
    CHECK(remedy.find("prjquota") != std::string::npos);
    // Where the kernel has it not, all else would be for nothing.
    const auto kernel = remedy.find("CONFIG_");
    CHECK((kernel == std::string::npos || kernel == std::string("the kernel must have ").size()));
    if (::geteuid() == 0) {
        CHECK(remedy.find(tree.path()) != std::string::npos);
    }
}
