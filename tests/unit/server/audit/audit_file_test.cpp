#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "server/audit/audit_file.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

using berth::Error;
using berth::server::AuditFile;

namespace {

std::string content(const std::string& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A full disk, as far as a test may make one.
struct FileSizeLimit {
    explicit FileSizeLimit(rlim_t bytes)
    {
        ::getrlimit(RLIMIT_FSIZE, &before);
        const rlimit limit{.rlim_cur = bytes, .rlim_max = before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }

    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }

    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

    rlimit before{};
};

struct AuditFileBench {
    berth::tests::TemporaryDirectory directory;
    std::string path = directory / "audit.jsonl";
};

} // namespace

TEST_CASE_FIXTURE(AuditFileBench, "lines are appended, for the owner's eyes alone")
{
    AuditFile(path).append("one");
    AuditFile file(path);
    file.append("two");
    CHECK(content(path) == "one\ntwo\n");
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE_FIXTURE(AuditFileBench,
                  "a file that was moved away or cut is followed with the next line")
{
    AuditFile file(path);
    file.append("one");
    std::filesystem::rename(path, path + ".1");
    file.append("two");
    CHECK(content(path + ".1") == "one\n");
    CHECK(content(path) == "two\n");
    std::filesystem::resize_file(path, 0);
    file.append("three");
    CHECK(content(path) == "three\n");
    std::filesystem::remove(path);
    file.append("four");
    CHECK(content(path) == "four\n");
}

TEST_CASE_FIXTURE(AuditFileBench, "a line that lost its end leaves the next one whole")
{
    AuditFile file(path);
    file.append("one");
    std::ofstream(path, std::ios::app) << R"({"tool":"ba)";
    file.append("two");
    file.append("three");
    CHECK(content(path) == "one\n{\"tool\":\"ba\ntwo\nthree\n");
}

TEST_CASE_FIXTURE(AuditFileBench, "lines of many threads and files of one name do not mix")
{
    constexpr int lines = 200;
    std::vector<std::jthread> threads;
    for (char letter = 'a'; letter < 'e'; ++letter) {
        threads.emplace_back([this, letter] {
            AuditFile file(path);
            for (int i = 0; i < lines; ++i) {
                file.append(std::string(300, letter));
            }
        });
    }
    threads.clear();
    std::ifstream file(path);
    int count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        CHECK(line == std::string(300, line.empty() ? '?' : line.front()));
    }
    CHECK(count == 4 * lines);
}

TEST_CASE_FIXTURE(AuditFileBench, "of a line that does not fit nothing is left")
{
    AuditFile file(path);
    file.append("short");
    {
        const FileSizeLimit full(10);
        CHECK_THROWS_AS(file.append("a line that is longer than there is room for"),
                        std::system_error);
    }
    CHECK(content(path) == "short\n");
    file.append("next");
    CHECK(content(path) == "short\nnext\n");
}

TEST_CASE_FIXTURE(AuditFileBench, "what is no file of the server's own is refused")
{
    const auto refusal = [](const std::string& where) {
        try {
            const AuditFile file(where);
            return std::string();
        } catch (const Error& error) {
            CHECK(error.code() == berth::ErrorCode::invalid_argument);
            return std::string(error.what());
        }
    };
    CHECK(refusal(directory / "none/audit").find("cannot be opened") != std::string::npos);
    CHECK(refusal("/dev/null").find("no ordinary file") != std::string::npos);
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK_FALSE(refusal(directory / "fifo").empty());
    std::filesystem::create_symlink(path, directory / "link");
    CHECK(refusal(directory / "link").find("cannot be opened") != std::string::npos);
    AuditFile(path).append("x");
    std::filesystem::create_hard_link(path, directory / "other");
    CHECK(refusal(path).find("one name") != std::string::npos);
    std::filesystem::remove(directory / "other");
    REQUIRE(::chmod(path.c_str(), 0620) == 0);
    CHECK(refusal(path).find("others than its owner") != std::string::npos);
}

TEST_CASE_FIXTURE(AuditFileBench, "a server that is stopped at its line holds up no other")
{
    AuditFile file(path);
    const berth::UniqueFd holder(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(holder.get(), LOCK_EX) == 0);
    const auto began = std::chrono::steady_clock::now();
    constexpr int lines = 100; // which would take 10 s if each waited
    std::string all;
    for (int i = 0; i < lines; ++i) {
        file.append("one");
        all += "one\n";
    }
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
    CHECK(content(path) == all);
}
