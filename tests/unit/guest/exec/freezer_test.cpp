#include "sandbox/guest/exec/process_tree.hpp"
#include "sandbox/guest/pause/cgroup_freezer.hpp"
#include "sandbox/guest/pause/signal_freezer.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

// Freezing what commands left running: none of it runs, all of it goes on, and nothing else
// changes.

namespace berth::guest::test {
namespace {

using std::chrono::milliseconds;

/// Of a file that a loop in the sandbox writes to.
std::size_t lines_in(const std::string& path)
{
    std::ifstream file(path);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

struct Frozen {
    Mode mode;
    int cgroup_fd = -1;
    Guest guest;
    std::unique_ptr<Freezer> freezer;

    explicit Frozen(Mode mode_)
        : mode(mode_), guest(mode_, [this](protocol::GuestConfig& config) {
              cgroup_fd = config.commands_cgroup_fd;
          })
    {
        if (mode == Mode::cgroup) {
            auto made = std::make_unique<CgroupFreezer>(guest.loop, cgroup_fd);
            REQUIRE(made->is_usable());
            freezer = std::move(made);
        } else {
            freezer = std::make_unique<SignalFreezer>(
                guest.loop, [this](bool* unread) { return guest.commands->processes(unread); });
        }
    }

    bool freeze()
    {
        std::optional<bool> complete;
        freezer->freeze([&](bool result) { complete = result; });
        REQUIRE(guest.until([&] { return complete.has_value(); }));
        return *complete;
    }

    [[nodiscard]] std::size_t count(const std::string& file) const
    {
        return lines_in(guest.home() + "/" + file);
    }

    bool grows(const std::string& file)
    {
        const auto before = count(file);
        return guest.until([&] { return count(file) > before + 2; });
    }

    bool stands(const std::string& file)
    {
        const auto before = count(file);
        guest.spin(milliseconds(100));
        return count(file) == before;
    }
};

constexpr const char* counting = "while :; do echo >>%; sleep 0.01; done >/dev/null 2>&1 &";

std::string count_into(const std::string& file)
{
    std::string command = counting;
    return command.replace(command.find('%'), 1, file);
}

} // namespace

TEST_CASE("freezer: what runs stands still, and goes on, twice")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        CHECK(frozen.guest.run(count_into("a") + count_into("b")).reply.job_id == "job-1");
        CHECK(frozen.guest.run("(" + count_into("c") + " wait) &").reply.job_id == "job-2");
        for (int round = 0; round < 2; ++round) {
            for (const auto* file : {"a", "b", "c"}) {
                CHECK(frozen.grows(file));
            }
            REQUIRE(frozen.freeze());
            for (const auto* file : {"a", "b", "c"}) {
                CHECK(frozen.stands(file));
            }
            frozen.freezer->thaw();
        }
        CHECK(frozen.grows("c"));
    });
}

TEST_CASE("freezer: what had been stopped stays so")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        frozen.guest.run(count_into("a") + " kill -STOP $!; " + count_into("b"));
        REQUIRE(frozen.freeze());
        frozen.freezer->thaw();
        CHECK(frozen.grows("b"));
        CHECK(frozen.stands("a"));
    });
}

TEST_CASE("freezer: a shell with job control does not see its child stop")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        frozen.guest.run("bash -mc '" +
                         std::string("bash -c \"while :; do echo >>a; sleep 0.01; "
                                     "done\"; echo >>ended") +
                         "' >/dev/null 2>&1 &");
        CHECK(frozen.grows("a"));
        REQUIRE(frozen.freeze());
        frozen.freezer->thaw();
        CHECK(frozen.grows("a"));
        CHECK(frozen.count("ended") == 0);
    });
}

TEST_CASE("freezer: with nothing to freeze, and thawed before it is done")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        CHECK(frozen.freeze());
        frozen.freezer->thaw();
        frozen.guest.run(count_into("a"));
        bool told = false;
        frozen.freezer->freeze([&](bool) { told = true; });
        frozen.freezer->thaw();
        CHECK(frozen.grows("a"));
        CHECK_FALSE(told);
    });
}

TEST_CASE("freezer: a swarm that forks all the time")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        frozen.guest.run("for i in 1 2 3 4 5 6; do (while :; do /bin/true; echo >>a; done) & done "
                         ">/dev/null 2>&1");
        CHECK(frozen.grows("a"));
        REQUIRE(frozen.freeze());
        CHECK(frozen.stands("a"));
        frozen.freezer->thaw();
        CHECK(frozen.grows("a"));
    });
}

TEST_CASE("freezer: a frozen job can be ended")
{
    in_each_mode([](Mode mode) {
        Frozen frozen(mode);
        frozen.guest.run(count_into("a"));
        REQUIRE(frozen.freeze());
        frozen.guest.commands.reset(); // kills what runs
        frozen.freezer->thaw();
        CHECK(frozen.stands("a"));
    });
}

TEST_CASE("freezer: a cgroup that cannot be frozen is not usable")
{
    EventLoop loop;
    CHECK_FALSE(CgroupFreezer(loop, -1).is_usable());
}

} // namespace berth::guest::test
