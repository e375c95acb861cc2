#include "sandbox/guest/exec/process_tree.hpp"
#include "sandbox/guest/pause/cgroup_freezer.hpp"
#include "sandbox/guest/pause/cgroup_v1_freezer.hpp"
#include "sandbox/guest/pause/signal_freezer.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum class Way { signals, cgroup, cgroup_v1 };

constexpr const char* v1_root = "/sys/fs/cgroup/freezer";

/// Those that this host allows.
std::vector<Way> ways()
{
    std::vector<Way> all;
    for (const Mode mode : modes()) {
        all.push_back(mode == Mode::cgroup ? Way::cgroup : Way::signals);
    }
    if (::geteuid() == 0 && ::access((std::string(v1_root) + "/tasks").c_str(), W_OK) == 0) {
        all.push_back(Way::cgroup_v1);
    }
    return all;
}

template <class Function>
void in_each_way(Function function)
{
    for (const Way way : ways()) {
        CAPTURE(static_cast<int>(way));
        function(way);
    }
}

/// In the hierarchy of v1's freezer; what commands join, when there is one.
class V1Cgroup {
  public:
    V1Cgroup() = default;
    V1Cgroup(const V1Cgroup&) = delete;
    V1Cgroup& operator=(const V1Cgroup&) = delete;

    ~V1Cgroup()
    {
        for (int tries = 0; !path_.empty() && ::rmdir(path_.c_str()) != 0 && tries < 1000;
             ++tries) {
            ::usleep(1000); // what was killed is still leaving
        }
    }

    void make(protocol::GuestConfig& config)
    {
        path_ = std::string(v1_root) + "/berth-test-" + std::to_string(::getpid());
        REQUIRE(::mkdir(path_.c_str(), 0755) == 0);
        tasks_.reset(::open((path_ + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
        state_.reset(::open((path_ + "/freezer.state").c_str(), O_RDWR | O_CLOEXEC));
        config.v1_tasks_fds = {tasks_.get()};
    }

    [[nodiscard]] int state() const noexcept { return state_.get(); }

  private:
    std::string path_;
    UniqueFd tasks_;
    UniqueFd state_;
};

struct Frozen {
    V1Cgroup v1;
    int cgroup_fd = -1;
    Guest guest;
    std::unique_ptr<Freezer> freezer;

    explicit Frozen(Way way)
        : guest(way == Way::cgroup ? Mode::cgroup : Mode::subreaper,
                [&](protocol::GuestConfig& config) {
                    cgroup_fd = config.commands_cgroup_fd;
                    if (way == Way::cgroup_v1) {
                        v1.make(config);
                    }
                })
    {
        if (way == Way::cgroup) {
            auto made = std::make_unique<CgroupFreezer>(guest.loop, cgroup_fd);
            REQUIRE(made->is_usable());
            freezer = std::move(made);
        } else if (way == Way::cgroup_v1) {
            auto made = std::make_unique<CgroupV1Freezer>(guest.loop, v1.state());
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
    in_each_way([](Way way) {
        Frozen frozen(way);
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

TEST_CASE("freezer: a long chain of processes of which each waits for the next")
{
    in_each_way([](Way way) {
        Frozen frozen(way);
        frozen.guest.run("perl -e 'for (1..150) { if (fork) { wait; exit } } system(\"" +
                         std::string("while :; do echo >>a; sleep 0.01; done") +
                         "\")' >/dev/null 2>&1 &");
        CHECK(frozen.grows("a"));
        REQUIRE(frozen.freeze());
        CHECK(frozen.stands("a"));
        frozen.freezer->thaw();
        CHECK(frozen.grows("a"));
    });
}

TEST_CASE("freezer: what had been stopped stays so")
{
    in_each_way([](Way way) {
        Frozen frozen(way);
        frozen.guest.run(count_into("a") + " kill -STOP $!; " + count_into("b"));
        REQUIRE(frozen.freeze());
        frozen.freezer->thaw();
        CHECK(frozen.grows("b"));
        CHECK(frozen.stands("a"));
    });
}

TEST_CASE("freezer: a shell with job control does not see its child stop")
{
    in_each_way([](Way way) {
        Frozen frozen(way);
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
    in_each_way([](Way way) {
        Frozen frozen(way);
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
    in_each_way([](Way way) {
        Frozen frozen(way);
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
    in_each_way([](Way way) {
        Frozen frozen(way);
        frozen.guest.run(count_into("a"));
        REQUIRE(frozen.freeze());
        if (!frozen.freezer->lets_kill()) {
            frozen.freezer->thaw();
        }
        frozen.guest.commands.reset(); // kills what runs
        frozen.freezer->thaw();
        CHECK(frozen.stands("a"));
    });
}

TEST_CASE("freezer: a cgroup that cannot be frozen is not usable")
{
    EventLoop loop;
    CHECK_FALSE(CgroupFreezer(loop, -1).is_usable());
    CHECK_FALSE(CgroupV1Freezer(loop, -1).is_usable());
}

TEST_CASE("freezer: a file that does not say that all is frozen is not believed to")
{
    char name[] = "/tmp/berth-test-XXXXXX";
    const UniqueFd file(::mkstemp(name));
    REQUIRE(file.valid());
    ::unlink(name);
    EventLoop loop;
    CgroupV1Freezer freezer(loop, file.get());
    std::optional<bool> complete;
    freezer.freeze([&](bool result) {
        complete = result;
        loop.stop();
    });
    loop.run();
    CHECK(complete == false); // "FROZEN" is what was asked for; the kernel says it with a newline
    freezer.thaw();
    char text[8]{};
    CHECK(::pread(file.get(), text, 6, 0) == 6);
    CHECK(std::string(text) == "THAWED");
}

} // namespace berth::guest::test
