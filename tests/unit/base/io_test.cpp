#include "sandbox/base/io.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
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
