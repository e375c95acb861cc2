#include "sandbox/base/io.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

using namespace berth;

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
