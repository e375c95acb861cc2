#include "tests/unit/guest/search/search_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

using berth::protocol::GrepMode;
using berth::tests::SearchTree;

TEST_CASE("grep: files by the time of their last change, of equals by path, page by page")
{
    const SearchTree tree;
    const auto write = [&](const std::string& name, const char* text, time_t changed) {
        tree.write(name, text);
        const timespec times[] = {{changed, 0}, {changed, 0}};
        REQUIRE(::utimensat(AT_FDCWD, (tree.path() + "/" + name).c_str(), times, 0) == 0);
    };
    write("old", "foo", 1000);
    write("new", "foo", 3000);
    write("b/same", "foo", 2000);
    write("a", "foo", 2000);
    write("newest", "bar", 9000);
    const auto listed = [&](std::uint64_t limit, std::uint64_t offset, GrepMode mode) {
        const auto reply = tree.grep({.pattern = "foo",
                                      .mode = mode,
                                      .limit = limit,
                                      .offset = offset,
                                      .newest_first = true});
        CHECK(reply.total_files == 4);
        std::string names;
        for (const auto& file : reply.files) {
            names += file.path.substr(tree.path().size() + 1) + " ";
        }
        return names + reply.truncated_by;
    };
    CHECK(listed(0, 0, GrepMode::files) == "new a b/same old ");
    CHECK(listed(2, 0, GrepMode::files) == "new a limit");
    CHECK(listed(2, 2, GrepMode::files) == "b/same old ");
    CHECK(listed(2, 9, GrepMode::files).empty());
    CHECK(listed(0, 0, GrepMode::count) == "a b/same new old "); // of lists of files alone
}
