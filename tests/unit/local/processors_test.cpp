#include "sandbox/local/processors.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstddef>
#include <string>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth::local;

namespace {

/// A process that waits to be killed.
class Sleeper {
  public:
    Sleeper() : pid_(::fork())
    {
        if (pid_ == 0) {
            for (;;) {
                ::pause();
            }
        }
    }

    ~Sleeper()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    [[nodiscard]] cpu_set_t processors() const
    {
        cpu_set_t set;
        REQUIRE(::sched_getaffinity(pid_, sizeof set, &set) == 0);
        return set;
    }

  private:
    pid_t pid_;
};

} // namespace

TEST_CASE("a process is kept off this processor, and has all of its own back")
{
    const Sleeper process;
    const cpu_set_t all = process.processors();
    const std::string before = keep_off_this_processor(process.pid());
    const cpu_set_t rest = process.processors();
    if (CPU_COUNT(&all) == 1) {
        CHECK(before.empty()); // nowhere else to go
        CHECK(CPU_EQUAL(&rest, &all));
        return;
    }
    CHECK(before == own_processors());
    CHECK(CPU_COUNT(&rest) == CPU_COUNT(&all) - 1);
    give_processors_back(before, process.pid());
    const cpu_set_t again = process.processors();
    CHECK(CPU_EQUAL(&again, &all));
}

TEST_CASE("a process may run where its launcher may, and not elsewhere")
{
    const Sleeper process;
    const std::string all = own_processors();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    share_processors(process.pid());
    give_processors_back(all);
    const cpu_set_t shared = process.processors();
    CHECK(CPU_EQUAL(&shared, &one));
}

TEST_CASE("nothing is done for a process that is gone, nor without its processors")
{
    pid_t gone = 0;
    {
        const Sleeper process;
        gone = process.pid();
    }
    CHECK(keep_off_this_processor(gone).empty());
    const Sleeper process;
    const cpu_set_t all = process.processors();
    give_processors_back("", process.pid());
    give_processors_back("short", process.pid());
    const cpu_set_t again = process.processors();
    CHECK(CPU_EQUAL(&again, &all));
}
