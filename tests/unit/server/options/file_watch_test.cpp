#include "server/options/file_watch.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::becomes_true;
using server::FileWatch;

namespace {

using Seen = FileWatch::State;

struct Watched {
    void write(const std::string& text) const { std::ofstream(path) << text; }

    /// Looks until something else than the same is seen.
    Seen next()
    {
        auto seen = Seen::same;
        CHECK(becomes_true([&] { return (seen = watch.look(path)) != Seen::same; }));
        return seen;
    }

    tests::TemporaryDirectory directory;
    std::string path = directory / "file";
    FileWatch watch;
};

} // namespace

TEST_CASE("a file that has only just changed may not be whole yet")
{
    Watched file;
    file.write("a");
    CHECK(file.watch.look(file.path) == Seen::same);
    CHECK(file.next() == Seen::changed);
    CHECK(file.watch.look(file.path) == Seen::same);
    CHECK(becomes_true([&] { return FileWatch().look(file.path) == Seen::changed; }));
}

TEST_CASE("a change is told once, whichever it is")
{
    Watched file;
    file.write("a");
    CHECK(file.next() == Seen::changed);
    file.write("b"); // of the same size
    CHECK(file.next() == Seen::changed);
    CHECK(file.watch.look(file.path) == Seen::same);
    std::filesystem::permissions(file.path, std::filesystem::perms::owner_all);
    CHECK(file.next() == Seen::changed);
    CHECK(file.watch.look(file.path) == Seen::same);
}

TEST_CASE("an older file that takes the place of a newer one is a change")
{
    Watched file;
    file.write("new");
    const auto other = file.directory / "other";
    std::ofstream(other) << "old";
    std::filesystem::last_write_time(other, std::filesystem::file_time_type::clock::now() -
                                                std::chrono::hours(24));
    CHECK(file.next() == Seen::changed);
    std::filesystem::rename(other, file.path);
    CHECK(file.next() == Seen::changed);
    CHECK(file.watch.look(file.path) == Seen::same);
}

TEST_CASE("a file that is gone is told once, when two looks agree, and so is that it is back")
{
    Watched file;
    file.write("a");
    CHECK(file.next() == Seen::changed);
    std::filesystem::remove(file.path);
    CHECK(file.watch.look(file.path) == Seen::same); // between unlink and rename
    CHECK(file.watch.look(file.path) == Seen::gone);
    CHECK(file.watch.look(file.path) == Seen::same);
    file.write("a");
    CHECK(file.next() == Seen::changed);
}

TEST_CASE("a file that was emptied is about to be written anew")
{
    Watched file;
    file.write("a");
    CHECK(file.next() == Seen::changed);
    file.write("");
    for (int i = 0; i < 5; ++i) {
        CHECK(file.watch.look(file.path) == Seen::same);
    }
    file.write("b");
    CHECK(file.next() == Seen::changed);
    file.write("b");
    CHECK(file.next() == Seen::changed);
}

TEST_CASE("another path is another file, and none is none")
{
    Watched file;
    file.write("a");
    CHECK(file.next() == Seen::changed);
    const auto other = file.directory / "other";
    std::filesystem::create_hard_link(file.path, other);
    auto seen = Seen::same;
    CHECK(becomes_true([&] { return (seen = file.watch.look(other)) != Seen::same; }));
    CHECK(seen == Seen::changed);
    FileWatch none;
    CHECK(none.look("") == Seen::same);
    CHECK(none.look("") == Seen::same);
}
