#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>

// Every operation that writes, in a home that is limited.

using berth::ErrorCode;
using berth::guest::HomeQuota;
using berth::guest::testing::error_of;
using berth::guest::testing::Machine;
using namespace berth::protocol; // NOLINT(google-build-using-namespace): the requests

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

/// 2 MiB may be in the home, and "old" has 1.5 of them.
struct FullHome : Machine {
    FullHome()
    {
        config.quota = 2 * mebibyte;
        put("old", old);
        quota.emplace(config);
        context.quota = &*quota;
    }

    void write(const std::string& path, const std::string& content,
               WriteMode mode = WriteMode::overwrite)
    {
        WriteFileRequest request;
        request.path = path;
        request.content = content;
        request.mode = mode;
        (void)berth::guest::write_file(request, context);
    }

    const std::string old = std::string(3 * mebibyte / 2, 'o');
    std::optional<HomeQuota> quota;
};

} // namespace

TEST_CASE("a file that the home has no room for is refused, and nothing is left of it")
{
    FullHome machine;
    const auto error = error_of([&] { machine.write("deep/new", std::string(mebibyte, 'n')); });
    CHECK(error.code() == ErrorCode::quota_exceeded);
    CHECK(std::string(error.what()).find("session.quota") != std::string::npos);
    CHECK(error.hint().find("du ") != std::string::npos);
    CHECK(machine.count() == 1);
    machine.write("small", std::string(mebibyte / 4, 's'));
    CHECK(machine.get("small").size() == mebibyte / 4);
}

TEST_CASE("a file may be replaced by a smaller one, and by one that is larger by what there is")
{
    FullHome machine;
    machine.write("old", std::string(2 * mebibyte - 64UL * 1024, 'x'));
    const auto larger = std::string(3 * mebibyte, 'y');
    CHECK(error_of([&] { machine.write("old", larger); }).code() == ErrorCode::quota_exceeded);
    CHECK(machine.get("old").front() == 'x');
    machine.write("old", "z");
    CHECK(machine.get("old") == "z");
    machine.write("other", std::string(mebibyte, 'a')); // that has made room
}

TEST_CASE("in a home that is too large already a file may become smaller")
{
    FullHome machine;
    machine.put("foreign", std::string(3 * mebibyte, 'f'));
    machine.quota->doubt();
    CHECK(error_of([&] { machine.write("new", "n"); }).code() == ErrorCode::quota_exceeded);
    machine.write("foreign", "small");
    machine.write("new", "n");
}

TEST_CASE("appending is refused before the first byte")
{
    FullHome machine;
    const auto error =
        error_of([&] { machine.write("old", std::string(mebibyte, 'a'), WriteMode::append); });
    CHECK(error.code() == ErrorCode::quota_exceeded);
    CHECK(machine.get("old") == machine.old);
    machine.write("old", "tail", WriteMode::append);
    CHECK(machine.get("old") == machine.old + "tail");
}

TEST_CASE("an edit that makes a file too large leaves it as it was")
{
    FullHome machine;
    machine.put("text", "one\ntwo\n");
    EditFileRequest request;
    request.path = "text";
    request.edits = {{.old_text = "two", .new_text = std::string(mebibyte, 't')}};
    request.max_size = 8 * mebibyte;
    CHECK(error_of([&] { (void)berth::guest::edit_file(request, machine.context); }).code() ==
          ErrorCode::quota_exceeded);
    CHECK(machine.get("text") == "one\ntwo\n");
}

TEST_CASE("a patch that has no room for its second file leaves the first as it was")
{
    FullHome machine;
    machine.put("a", "one\n");
    const std::string line(mebibyte, 'b');
    PatchFilesRequest request;
    request.patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Add File: b\n+" +
                    line + "\n*** End Patch\n";
    request.max_size = 8 * mebibyte;
    CHECK(error_of([&] { (void)berth::guest::patch_files(request, machine.context); }).code() ==
          ErrorCode::quota_exceeded);
    CHECK(machine.get("a") == "one\n");
    CHECK_FALSE(machine.exists("b"));
}

TEST_CASE("what is outside of the home is written whatever the home has")
{
    FullHome machine;
    machine.config.writable_roots = {machine.base + "/outside"};
    machine.write(machine.base + "/outside/file", std::string(3 * mebibyte, 'x'));
    CHECK(std::filesystem::file_size(machine.base + "/outside/file") == 3 * mebibyte);
}
