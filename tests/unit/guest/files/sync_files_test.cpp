#include "sandbox/guest/files/sync_files.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <sys/stat.h>

using berth::guest::sync_file_systems;

TEST_SUITE("guest/files/sync_files")
{
    TEST_CASE("each file system is written once, however many folders are on it")
    {
        const berth::tests::TemporaryDirectory folder;
        struct stat here{};
        struct stat devices{};
        REQUIRE(::stat(folder.path().c_str(), &here) == 0);
        REQUIRE(::stat("/dev/shm", &devices) == 0);
        REQUIRE(here.st_dev != devices.st_dev);
        std::vector<dev_t> synced;
        const auto sync = [&](int fd) {
            struct stat found{};
            REQUIRE(::fstat(fd, &found) == 0);
            synced.push_back(found.st_dev);
            return found.st_dev != devices.st_dev;
        };
        const std::string path = folder.path();
        CHECK(sync_file_systems({path, path + "/..", "/no/such", "/dev/shm", path}, sync) == 1);
        CHECK(synced == std::vector{here.st_dev, devices.st_dev}); // what fails is not tried again
    }
}
