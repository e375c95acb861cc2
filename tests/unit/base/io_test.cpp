#include "sandbox/base/deadline.hpp"
#include "sandbox/base/directory.hpp"
#include "sandbox/base/io.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using berth::tests::TemporaryDirectory;

TEST_CASE("what a server of the same pid left half written is not in the way")
{
    const tests::TemporaryDirectory directory;
    const std::string path = directory / "file";
    for (int i = 1; i < 3000; ++i) {
        std::ofstream(path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(i));
    }
    write_file_atomically(AT_FDCWD, path, "content", 0600, false);
    CHECK(read_file_limited(AT_FDCWD, path, 100) == "content");
}

TEST_CASE("a pipe in a file's place is not waited for")
{
    const TemporaryDirectory directory;
    const auto path = directory.path() + "/pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_THROWS_AS((void)read_file_limited(AT_FDCWD, path, 100), std::system_error);
}

TEST_CASE("what a killed writer left is known by its name")
{
    CHECK(is_unfinished("file.tmp.0123456789abcdef", "file"));
    CHECK(is_unfinished("file.tmp.0123456789abcdef"));
    CHECK(is_unfinished("a.tmp.b.tmp.0123", "a.tmp.b"));
    CHECK(is_unfinished("file.tmp.12.1", "file")); // of an earlier release
    for (const char* const of : {"other", "fil", "ile", "file.tmp"}) {
        CAPTURE(of);
        CHECK_FALSE(is_unfinished("file.tmp.0123", of));
    }
    for (const char* const name :
         {"", "file", "file.tmp.", "file.tmp", ".tmp.0123", "filetmp.01"}) {
        CAPTURE(name);
        CHECK_FALSE(is_unfinished(name));
        CHECK_FALSE(is_unfinished(name, "file"));
    }
}

TEST_CASE("what killed writers left is removed, of the files that were named and as old as that")
{
    const TemporaryDirectory directory;
    const std::vector<std::string> all{"a", "a.tmp.1", "b.tmp.1", "b.tmp.2", "c.tmp.1"};
    for (const auto& name : all) {
        std::ofstream(directory / name).flush();
    }
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(directory / "b.tmp.2", now - std::chrono::minutes(2));
    std::filesystem::create_directory(directory / "d.tmp.1"); // nobody's who writes so
    const UniqueFd folder(::open((directory / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto left = [&] {
        auto names = directory_names(folder.get());
        std::sort(names.begin(), names.end());
        return names;
    };
    using Names = std::vector<std::string>;
    remove_unfinished(folder.get(), {"b", "c"}, std::chrono::minutes(1));
    CHECK(left() == Names{"a", "a.tmp.1", "b.tmp.1", "c.tmp.1", "d.tmp.1"});
    remove_unfinished(folder.get(), {"b", "c"});
    CHECK(left() == Names{"a", "a.tmp.1", "d.tmp.1"});
    remove_unfinished(folder.get());
    CHECK(left() == Names{"a", "d.tmp.1"});
}

TEST_CASE("something to be read is waited for until the deadline, signals or not")
{
    auto pipe = make_pipe();
    const auto soon = [] { return Deadline::after(std::chrono::milliseconds(200)); };
    CHECK_FALSE(wait_readable(pipe.read.get(), Deadline::after({})));
    {
        struct sigaction ignoring{};
        struct sigaction before{};
        ignoring.sa_handler = [](int) {}; // no SA_RESTART
        REQUIRE(::sigaction(SIGUSR1, &ignoring, &before) == 0);
        std::jthread disturbing([waiting = ::pthread_self()](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                ::pthread_kill(waiting, SIGUSR1);
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        });
        const auto deadline = soon();
        CHECK_FALSE(wait_readable(pipe.read.get(), deadline));
        CHECK(deadline.expired());
        disturbing = {};
        ::sigaction(SIGUSR1, &before, nullptr);
    }
    write_full(pipe.write.get(), "R");
    CHECK(wait_readable(pipe.read.get(), Deadline()));
    char byte = 0;
    REQUIRE(read_full(pipe.read.get(), &byte, 1) == 1);
    CHECK_FALSE(wait_readable(pipe.read.get(), Deadline::after({})));
    pipe.write.reset();
    CHECK(wait_readable(pipe.read.get(), Deadline::after({}))); // its end
}

TEST_CASE("a file is read whole up to the limit, in memory of its own size")
{
    const TemporaryDirectory directory;
    const std::string path = directory / "file";
    for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 16384U, 100'000U}) {
        CAPTURE(size);
        std::string content(size, 'x');
        for (std::size_t i = 0; i < size; i += 1000) {
            content[i] = static_cast<char>('a' + i / 1000 % 20);
        }
        std::ofstream(path) << content;
        CHECK(read_file_limited(AT_FDCWD, path, size) == content);
        CHECK(read_file_limited(AT_FDCWD, path, size + 1) == content);
        if (size > 0) {
            CHECK_THROWS_AS((void)read_file_limited(AT_FDCWD, path, size - 1), std::length_error);
        }
        // Which is taken, and filled, for each look at the host's mounts.
        CHECK(read_file_limited(AT_FDCWD, path, 64UL << 20U).capacity() < 1'000'000);
    }
}
