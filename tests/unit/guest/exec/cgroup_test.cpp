#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/exec/cgroup.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <fcntl.h>

// A plain directory in place of a cgroup: what is read from it is the same, on every host.

namespace berth::guest::test {

TEST_CASE("usage of a command's cgroup: what the kernel has of it, and nothing it has not")
{
    const tests::TemporaryDirectory directory;
    const UniqueFd parent(::open((directory / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(parent.valid());
    const CommandCgroup cgroup(parent.get(), "one");
    CHECK_FALSE(cgroup.usage().peak_memory);
    CHECK_FALSE(cgroup.usage().cpu_time);
    std::ofstream(directory / "one/memory.peak") << "123456789\n";
    std::ofstream(directory / "one/cpu.stat") << "nr_periods 7\nusage_usec 4200\nuser_usec 1\n";
    CHECK(cgroup.usage().peak_memory == 123456789);
    CHECK(cgroup.usage().cpu_time == 4200);
    std::ofstream(directory / "one/memory.peak") << "garbage\n";
    CHECK_FALSE(cgroup.usage().peak_memory);
}

TEST_CASE("a cgroup that cannot be read counts as populated, one that is gone does not")
{
    const tests::TemporaryDirectory directory;
    const UniqueFd parent(::open((directory / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(parent.valid());
    CommandCgroup cgroup(parent.get(), "one");
    std::ofstream(directory / "one/cgroup.events") << "populated 0\nfrozen 0\n";
    CHECK_FALSE(cgroup.populated());
    {
        const tests::DescriptorLimit limit;
        CHECK(cgroup.populated());
    }
    std::filesystem::remove(directory / "one/cgroup.events");
    REQUIRE(cgroup.remove());
    CHECK_FALSE(cgroup.populated());
}

TEST_CASE("kills for want of memory are counted in either form")
{
    const tests::TemporaryDirectory directory;
    for (const char* text : {"low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n",
                             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"}) {
        std::ofstream(directory / "events") << text;
        const UniqueFd events(::open((directory / "events").c_str(), O_RDONLY | O_CLOEXEC));
        CHECK(oom_kills(events.get()) == 2);
    }
    CHECK(oom_kills(-1) == 0);
}

TEST_CASE("processes that a limit refused a command are its own only where the kernel counts so")
{
    const tests::TemporaryDirectory directory;
    const UniqueFd parent(::open((directory / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(parent.valid());
    const CommandCgroup cgroup(parent.get(), "one");
    CHECK_FALSE(cgroup.refused_processes());
    std::ofstream(directory / "one/pids.events") << "max 4\n";
    CHECK(cgroup.refused_processes() == 4);
}

TEST_CASE("a reading is forgotten, and the file stays under its number")
{
    const tests::TemporaryDirectory directory;
    std::ofstream(directory / "events") << "oom_kill 2\n";
    const UniqueFd events(::open((directory / "events").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(events.valid());
    forget_reading(events.get());
    CHECK((::fcntl(events.get(), F_GETFL) & O_ACCMODE) == O_RDONLY); // another opening
    CHECK(::fcntl(events.get(), F_GETFD) == FD_CLOEXEC);
    CHECK(oom_kills(events.get()) == 2);
    {
        const tests::DescriptorLimit limit;
        forget_reading(events.get());
        CHECK(oom_kills(events.get()) == 2);
    }
    forget_reading(-1);
}

} // namespace berth::guest::test
