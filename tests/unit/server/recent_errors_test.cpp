#include "server/recent_errors.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

RecentError error(const std::string& message)
{
    return {.time = std::chrono::system_clock::from_time_t(1'800'000'000),
            .code = "session_lost",
            .tool = "bash_exec",
            .session = "work",
            .message = message};
}

} // namespace

TEST_CASE("what was remembered is told, the latest first")
{
    const berth::tests::TemporaryDirectory state;
    CHECK(recent_errors(state.path(), 10).empty());
    for (const auto* message : {"one", "two", "three"}) {
        remember_error(state.path(), error(message));
    }
    const auto found = recent_errors(state.path(), 2);
    REQUIRE(found.size() == 2);
    CHECK(found[0].message == "three");
    CHECK(found[1].message == "two");
    CHECK(found[0].time == error("").time);
    CHECK(found[0].code == "session_lost");
    CHECK(found[0].tool == "bash_exec");
    CHECK(found[0].session == "work");
    struct stat status{};
    REQUIRE(::stat((state / "errors.jsonl").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
}

TEST_CASE("fifty are told also when a file was put aside just now")
{
    const berth::tests::TemporaryDirectory state;
    for (int i = 0; i < 130; ++i) {
        remember_error(state.path(), error(std::string(2000, 'x')));
        CHECK(recent_errors(state.path(), 50).size() ==
              static_cast<std::size_t>(std::min(i + 1, 50)));
    }
}

TEST_CASE("servers that find the file full at once lose nothing of what is kept")
{
    constexpr int servers = 6;
    for (int round = 0; round < 150; ++round) {
        const berth::tests::TemporaryDirectory state;
        for (int i = 0; i < 62; ++i) { // with one more it is full
            remember_error(state.path(), error(std::string(2000, 'x')));
        }
        std::atomic<int> ready = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i < servers; ++i) {
            threads.emplace_back([&] {
                ++ready;
                while (ready < servers) {
                }
                remember_error(state.path(), error(std::string(2000, 'y')));
            });
        }
        threads.clear();
        REQUIRE(recent_errors(state.path(), 100).size() == 62 + servers);
    }
}

TEST_CASE("the files stay small, and the latest are in them")
{
    const berth::tests::TemporaryDirectory state;
    for (int i = 0; i < 300; ++i) {
        remember_error(state.path(), error(std::to_string(i) + std::string(5000, 'x')));
    }
    std::uintmax_t total = 0;
    for (const auto& file : std::filesystem::directory_iterator(state.path())) {
        total += file.file_size();
    }
    CHECK(total < 280'000);
    const auto found = recent_errors(state.path(), 5);
    REQUIRE(found.size() == 5);
    CHECK(found[0].message.starts_with("299x"));
    CHECK(found[4].message.starts_with("295x"));
}

TEST_CASE("damaged lines are left out, and no text of an error can forge one")
{
    const berth::tests::TemporaryDirectory state;
    std::ofstream(state / "errors.jsonl") << "{ half\n[1]\n{\"time\":7}\n\n";
    remember_error(state.path(), error("a\n{\"time\":\"2026-01-01T00:00:00Z\"}\n\xff"));
    const auto found = recent_errors(state.path(), 10);
    REQUIRE(found.size() == 1);
    CHECK(found[0].message.starts_with("a\n{"));
}

TEST_CASE("without a state directory nothing is kept and nothing is made")
{
    const berth::tests::TemporaryDirectory state;
    remember_error(state / "none", error("x"));
    CHECK_FALSE(std::filesystem::exists(state / "none"));
    CHECK(recent_errors(state / "none", 10).empty());
    // Nor is a link followed: the directory is another's until it has been checked.
    std::filesystem::create_symlink(state / "target", state / "errors.jsonl");
    remember_error(state.path(), error("x"));
    CHECK_FALSE(std::filesystem::exists(state / "target"));
}

TEST_CASE("what is no ordinary file of ours holds nobody up, and is told")
{
    const berth::tests::TemporaryDirectory state;
    const auto path = state / "errors.jsonl";
    std::string trouble;
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    remember_error(state.path(), error("x"));
    CHECK(recent_errors(state.path(), 10, &trouble).empty());
    CHECK(trouble == "errors.jsonl in the state directory is no ordinary file of berth's; "
                     "remove it");
    std::filesystem::remove(path);
    std::ofstream(state / "precious").flush();
    std::filesystem::create_hard_link(state / "precious", path);
    remember_error(state.path(), error("x"));
    CHECK(std::filesystem::file_size(state / "precious") == 0);
}

TEST_CASE("that one could not be kept is known, with the time of the last")
{
    const berth::tests::TemporaryDirectory state;
    remember_error(state.path(), error("x"));
    CHECK_FALSE(unkept_errors(state.path()));
    std::filesystem::remove(state / "errors.jsonl");
    REQUIRE(::mkfifo((state / "errors.jsonl").c_str(), 0600) == 0); // as good as a full disk
    const auto before = std::chrono::system_clock::now() - std::chrono::seconds(1);
    remember_error(state.path(), error("x"));
    REQUIRE(unkept_errors(state.path()));
    CHECK(*unkept_errors(state.path()) > before);
    const timespec long_ago[2] = {{.tv_sec = 1'000, .tv_nsec = 0}, {.tv_sec = 1'000, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, (state / "errors.unkept").c_str(), long_ago, 0) == 0);
    CHECK(*unkept_errors(state.path()) < before);
    remember_error(state.path(), error("x"));
    CHECK(*unkept_errors(state.path()) > before);
}

TEST_CASE("nothing is written to a state directory that is refused")
{
    const berth::tests::TemporaryDirectory state;
    REQUIRE(::chmod(state.path().c_str(), 0777) == 0);
    remember_error(state.path(), error("x"));
    CHECK(std::filesystem::is_empty(state.path()));
}
