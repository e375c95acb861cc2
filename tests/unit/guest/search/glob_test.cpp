#include "sandbox/base/unique_fd.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/search/search_fixture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using berth::ErrorCode;
using berth::protocol::GlobReply;
using berth::tests::error_of;
using berth::tests::SearchTree;

namespace {

void set_time(const SearchTree& tree, const std::string& name, long nanoseconds)
{
    const timespec when{.tv_sec = 1'000'000, .tv_nsec = nanoseconds};
    const timespec both[2] = {when, when};
    REQUIRE(utimensat(AT_FDCWD, (tree.path() + "/" + name).c_str(), both, 0) == 0);
}

std::string names(const GlobReply& reply, const SearchTree& tree)
{
    std::string all;
    for (const std::string& path : reply.paths) {
        all += (all.empty() ? "" : " ") + path.substr(tree.path().size() + 1);
    }
    return all;
}

} // namespace

TEST_CASE("glob: newest first, then by name; the limit keeps the newest")
{
    const SearchTree tree;
    for (const char* name : {"a.c", "d/b.c", "d/c.c", ".h.c"}) {
        tree.write(name, "");
        set_time(tree, name, 5);
    }
    set_time(tree, "d/c.c", 6);
    CHECK(names(tree.glob({.pattern = "*.c"}), tree) == "d/c.c .h.c a.c d/b.c");
    const GlobReply two = tree.glob({.pattern = "*.c", .limit = 2});
    CHECK(names(two, tree) == "d/c.c .h.c");
    CHECK(two.total == 4);
    CHECK(two.complete);
    CHECK(two.truncated_by == "limit");
}

TEST_CASE("glob: a dot within the pattern")
{
    const SearchTree tree;
    tree.write("a/y.c", "");
    CHECK(names(tree.glob({.pattern = "a/./y.c"}), tree) == "a/y.c");
    CHECK(names(tree.glob({.pattern = "./a/./*.c", .respect_ignore = true}), tree) == "a/y.c");
}

TEST_CASE("glob: files only, symlinks to files too, no way through symlinks, .git not unnamed")
{
    const SearchTree tree;
    tree.write("d/file", "");
    tree.write(".git/file", "");
    REQUIRE(symlink("d/file", (tree.path() + "/link").c_str()) == 0);
    REQUIRE(symlink("d", (tree.path() + "/linked").c_str()) == 0);
    REQUIRE(symlink("none", (tree.path() + "/dangling").c_str()) == 0);
    REQUIRE(mkfifo((tree.path() + "/fifo").c_str(), 0600) == 0);
    CHECK(tree.glob({.pattern = "*"}).total == 2);
    CHECK(tree.glob({.pattern = "*/file"}).total == 1);
    CHECK(tree.glob({.pattern = "link"}).total == 1);
}

TEST_CASE("glob: .git is looked into where the pattern names it, else told")
{
    const SearchTree tree;
    for (const char* name : {".git/config", ".git/hooks/a", "m/.git/config", "m/f"}) {
        tree.write(name, "");
    }
    CHECK(names(tree.glob({.pattern = ".git/*"}), tree) == ".git/config");
    CHECK(names(tree.glob({.pattern = "./.git/hooks/*"}), tree) == ".git/hooks/a");
    CHECK(tree.glob({.pattern = "**/.git/config"}).total == 2);
    CHECK(names(tree.glob({.pattern = "{m/.git,d}/*"}), tree) == "m/.git/config");
    CHECK_FALSE(tree.glob({.pattern = ".git/*"}).git_left_out);
    CHECK(tree.glob({.pattern = "config"}).total == 0);
    CHECK(tree.glob({.pattern = "config"}).git_left_out);
    CHECK(tree.glob({.pattern = "*/hooks/*"}).git_left_out);
    CHECK_FALSE(tree.glob({.pattern = "m/g"}).git_left_out); // nothing there could match
    tree.write("sub/.git", "gitdir: ../.git/modules/sub\n"); // as git submodule makes it
    CHECK(tree.glob({.pattern = "sub/*"}).git_left_out);
    CHECK_FALSE(tree.glob({.pattern = "sub/*.c"}).git_left_out);
}

TEST_CASE("glob: where a pattern begins")
{
    const SearchTree tree;
    tree.write("d/e/a.c", "");
    tree.write("d/b.c", "");
    CHECK(names(tree.glob({.pattern = "d/*.c"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "./d/*.c"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "./*.c", .path = "d"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "./{e/none,*}.c", .path = "d"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = ".//././*.c", .path = "d"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "./.././*.c", .path = "d/e"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "../*.c", .path = "d/e"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = tree.path() + "/d/*.c", .path = "/"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = tree.path() + "/d/b.c"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "a.c", .path = "d"}), tree) == "d/e/a.c");
}

TEST_CASE("glob: alternatives that say where they begin")
{
    const SearchTree tree;
    for (const char* name : {"d/e/a.c", "d/e/b.c", "d/b.c", "f/a.c", "f/b.h"}) {
        tree.write(name, "");
        set_time(tree, name, 5);
    }
    const auto& at = tree.path();
    const auto found = [&](const std::string& pattern, const std::string& path = "") {
        return names(tree.glob({.pattern = pattern, .path = path}), tree);
    };
    CHECK(found("{" + at + "/d/*.c," + at + "/f/*.c}") == "d/b.c f/a.c");
    CHECK(found("{" + at + "/d," + at + "/f}/*.c", "/") == "d/b.c f/a.c");
    // A name behind a directory is right there, not at any depth.
    CHECK(found("{" + at + "/d/b.c," + at + "/d/e/a.c}") == "d/b.c d/e/a.c");
    CHECK(found(at + "/d/{b.c,e/a.c}") == "d/b.c d/e/a.c");
    CHECK(found("{../d/*.c,../f/*.h}", "f") == "d/b.c f/b.h");
    for (const auto& mixed : {"{" + at + "/d/*.c,*.h}", std::string("{~/a,/b}")}) {
        CAPTURE(mixed);
        CHECK(error_of([&] { (void)tree.glob({.pattern = mixed}); }) ==
              ErrorCode::invalid_argument);
    }
    CHECK(error_of([&] { (void)tree.glob({.pattern = "d/{../f,e}/*.c"}); }) ==
          ErrorCode::invalid_argument);
}

TEST_CASE("glob: the names that a pattern begins with are followed like a path")
{
    const SearchTree tree;
    tree.write("d/e/a.c", "");
    tree.write("d/b.c", "");
    REQUIRE(symlink("d", (tree.path() + "/dl").c_str()) == 0);
    REQUIRE(symlink("../d", (tree.path() + "/d/up").c_str()) == 0);
    REQUIRE(symlink("none", (tree.path() + "/dangling").c_str()) == 0);
    REQUIRE(symlink("loop", (tree.path() + "/loop").c_str()) == 0);
    REQUIRE(symlink("d/b.c", (tree.path() + "/file").c_str()) == 0);
    CHECK(names(tree.glob({.pattern = "dl/*.c"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "./dl/*.c"}), tree) == "d/b.c");
    CHECK(names(tree.glob({.pattern = "dl/e/*"}), tree) == "d/e/a.c");
    CHECK(names(tree.glob({.pattern = "dl/b.c"}), tree) == "d/b.c");
    CHECK(tree.glob({.pattern = "dl/*.c"}).root == tree.path());
    CHECK(tree.glob({.pattern = "dl/**"}).total == 2);
    CHECK(tree.glob({.pattern = "d/up/up/up/*.c"}).total == 1);
    for (const char* nowhere : {"loop/*", "file/*"}) {
        CHECK(error_of([&] { (void)tree.glob({.pattern = nowhere}); }) == ErrorCode::invalid_path);
    }
    for (const char* nothing : {"dangling/*", "none/*", "dl/none/*", "*/e/up/*"}) {
        CAPTURE(nothing);
        CHECK(tree.glob({.pattern = nothing}).total == 0);
    }
}

TEST_CASE("glob: a directory larger than one portion is listed whole, once")
{
    const SearchTree tree(berth::tests::place_in_memory());
    for (int i = 0; i < 17'000; ++i) {
        REQUIRE(mkdir((tree.path() + "/" + std::to_string(i)).c_str(), 0700) == 0);
    }
    for (const char* name : {"0/x", "8000/x", "16999/x", "x"}) {
        tree.write(name, "");
    }
    const GlobReply reply = tree.glob({.pattern = "x"});
    CHECK(reply.total == 4);
    CHECK(reply.unreadable == 0);
}

TEST_CASE("glob: what cannot be opened is named")
{
    const SearchTree tree;
    // Whoever runs this may be root, whom no mode keeps out: a path too long for anybody.
    std::string deep = tree.path();
    const std::string name(250, 'd');
    const berth::UniqueFd home(open(".", O_PATH | O_CLOEXEC));
    REQUIRE(chdir(deep.c_str()) == 0);
    while (deep.size() <= 4095) {
        REQUIRE(mkdir(name.c_str(), 0700) == 0);
        REQUIRE(chdir(name.c_str()) == 0);
        deep += "/" + name;
    }
    REQUIRE(fchdir(home.get()) == 0);
    const GlobReply reply = tree.glob({.pattern = "*"});
    CHECK(reply.unreadable == 1);
    REQUIRE(reply.unreadable_paths.size() == 1);
    CHECK(reply.unreadable_paths[0] == deep + "/");
}

TEST_CASE("glob: what is refused")
{
    const SearchTree tree;
    tree.write("file", "");
    const auto code = [&](const char* pattern, const char* path) {
        return error_of([&] { (void)tree.glob({.pattern = pattern, .path = path}); });
    };
    CHECK(code("[a", "") == ErrorCode::invalid_argument);
    CHECK(code("", "") == ErrorCode::invalid_argument);
    CHECK(code("d/", "") == ErrorCode::invalid_argument);
    CHECK(code("*/../x", "") == ErrorCode::invalid_argument);
    CHECK(code("*", "none") == ErrorCode::not_found);
    CHECK(code("*", "file") == ErrorCode::invalid_argument);
}

TEST_CASE("glob: a tree deeper than the guest has descriptors")
{
    const SearchTree tree;
    std::string deep;
    for (int i = 0; i < 300; ++i) {
        deep += "d/";
    }
    tree.write(deep + "bottom", "");
    CHECK(tree.glob({.pattern = "bottom"}).total == 1);
}

TEST_CASE("glob: ignore rules when asked for")
{
    const SearchTree tree;
    tree.write(".git/info/exclude", "*.o\n");
    tree.write(".gitignore", "x\n");
    tree.write("a.o", "");
    tree.write("x", "");
    tree.write("y", "");
    CHECK(tree.glob({.pattern = "?*"}).total == 4);
    const GlobReply kept = tree.glob({.pattern = "?*", .respect_ignore = true});
    CHECK(kept.total == 2);
    CHECK(kept.ignored == 2);
}
