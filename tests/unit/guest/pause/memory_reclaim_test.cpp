#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/pause/memory_reclaim.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>

using namespace berth;
using namespace std::chrono_literals;
using guest::MemoryReclaim;

namespace {

/// A cgroup whose kernel has always something to give, and writes down what it was asked for.
struct Fake {
    tests::TemporaryDirectory directory;
    std::string file = directory / "memory.reclaim";
    UniqueFd folder;
    guest::EventLoop loop;
    guest::Workers workers;

    Fake()
    {
        std::ofstream(file).flush();
        folder.reset(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(folder.valid());
    }

    void pass(std::chrono::milliseconds time)
    {
        (void)loop.call_at(BootClock::now() + time, [this] { loop.stop(); });
        loop.run();
    }

    [[nodiscard]] std::size_t asked() const { return std::filesystem::file_size(file); }
};

} // namespace

TEST_SUITE("guest/pause/memory_reclaim")
{
    TEST_CASE_FIXTURE(Fake, "it asks when the session has slept for a while, until it wakes")
    {
        MemoryReclaim reclaim(loop, workers, folder.get(), {.after = 100ms});
        pass(150ms);
        CHECK(asked() == 0);
        reclaim.begin();
        pass(1ms);
        CHECK(asked() == 0);
        CHECK(tests::becomes_true([&] {
            pass(10ms);
            return asked() > 6;
        }));
        reclaim.end();
        CHECK(tests::becomes_true([&] { return workers.threads() == 0; })); // idle ones end
        const auto last = asked();
        pass(150ms);
        CHECK(asked() == last);
        CHECK(read_file_limited(AT_FDCWD, file, asked()).starts_with("32M32M"));
    }

    TEST_CASE_FIXTURE(Fake, "one that wakes before that is left alone")
    {
        MemoryReclaim reclaim(loop, workers, folder.get(), {.after = 100ms});
        reclaim.begin();
        pass(1ms);
        reclaim.end();
        pass(200ms);
        CHECK(asked() == 0);
    }

    TEST_CASE_FIXTURE(Fake, "without such a file nothing is done")
    {
        REQUIRE(std::filesystem::remove(file));
        MemoryReclaim none(loop, workers, -1, {.after = 1ms});
        MemoryReclaim old_kernel(loop, workers, folder.get(), {.after = 1ms});
        none.begin();
        old_kernel.begin();
        pass(50ms);
        CHECK(workers.threads() == 0);
        CHECK_FALSE(std::filesystem::exists(file));
    }
}
