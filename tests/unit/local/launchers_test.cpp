// How launchers are started, kept waiting and ended.

#include "sandbox/local/blockers.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/child_process.hpp"
#include "sandbox/local/launchers.hpp"
#include "sandbox/local/plan.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;

namespace {

std::set<pid_t> children()
{
    std::set<pid_t> found;
    DIR* tasks = ::opendir("/proc/self/task");
    while (const dirent* task = ::readdir(tasks)) {
        std::ifstream list("/proc/self/task/" + std::string(task->d_name) + "/children");
        for (pid_t pid = 0; list >> pid;) {
            found.insert(pid);
        }
    }
    ::closedir(tasks);
    return found;
}

template <class Change>
void change_base(LaunchSpec& spec, const Change& change)
{
    auto base = protocol::decode<RootParts>(spec.base);
    change(base);
    spec.base = protocol::encode(base);
}

/// Those that have not ended, reaped or not.
std::size_t children_that_run()
{
    std::size_t count = 0;
    for (const pid_t pid : children()) {
        siginfo_t ended{};
        const bool has_ended =
            ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            ended.si_pid == pid;
        count += has_ended ? 0 : 1;
    }
    return count;
}

LaunchSpec probe()
{
    return make_probe(false, ::geteuid(), ::getegid());
}

/// The launcher that waits after a launch, once that of the launch has ended.
std::set<pid_t> the_waiting_one()
{
    std::set<pid_t> seen;
    REQUIRE(tests::becomes_true([&] {
        seen = children();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return seen.size() == 1 && seen == children();
    }));
    return seen;
}

} // namespace

TEST_CASE("an answer that comes as the launcher is given up counts: its machine lives")
{
    const test::Bench bench;
    const std::string program = bench.directory() + "/launcher";
    const auto result_of = [&](const std::string& text) {
        test::write_text(bench.directory() + "/answer", text);
        // It holds the socket for longer than anybody has patience.
        test::write_text(program, "#!/bin/sh\ncat " + bench.directory() + "/answer >&3\nsleep 1\n");
        REQUIRE(::chmod(program.c_str(), 0700) == 0);
        Launchers launchers(program, false, std::chrono::milliseconds(100));
        return launchers.launch(probe(), {});
    };
    LaunchResult answer;
    answer.ok = true;
    answer.pid = 7;
    const auto made = result_of(protocol::encode(answer));
    CHECK(made.ok);
    CHECK(made.pid == 7);
    answer.ok = false;
    answer.text = "the server is gone";
    for (const auto& other : {std::string(), std::string("half"), protocol::encode(answer)}) {
        const auto given_up = result_of(other);
        CHECK_FALSE(given_up.ok);
        CHECK(given_up.text == "the launcher did not answer");
    }
}

TEST_CASE("what is for later waits for a launcher that has not begun yet, and as long as for any")
{
    const test::Bench bench;
    const std::string program = bench.directory() + "/launcher";
    const auto waits_for = [&](const std::string& commands) {
        test::write_text(program, "#!/bin/sh\n" + commands);
        REQUIRE(::chmod(program.c_str(), 0700) == 0);
        Launchers launchers(program, false, std::chrono::seconds(2));
        const auto begin = std::chrono::steady_clock::now();
        std::chrono::nanoseconds later{};
        const auto result = launchers.launch(
            launchers.reserve(), probe(), {}, [] { return Handover(); },
            [&] { later = std::chrono::steady_clock::now() - begin; });
        CHECK_FALSE(result.ok);
        return std::pair{later, std::chrono::steady_clock::now() - begin};
    };
    CHECK(waits_for("sleep 0.5\n").first >= std::chrono::milliseconds(500));
    // Awake, it answers nothing, and ends once it is given up.
    const auto [later, all] = waits_for("setpriv --pdeathsig KILL head -c 8 <&5 >/dev/null\n"
                                        "cat <&3 >/dev/null\n");
    CHECK(later >= std::chrono::seconds(2));
    CHECK(all < std::chrono::seconds(4));
}

TEST_CASE("a launcher that is killed is told as such")
{
    const test::Bench bench;
    const std::string program = bench.directory() + "/launcher";
    test::write_text(program, "#!/bin/sh\nkill -KILL $$\n");
    REQUIRE(::chmod(program.c_str(), 0700) == 0);
    Launchers launchers(program, false, std::chrono::seconds(10));
    const auto killed = launchers.launch(probe(), {});
    CHECK_FALSE(killed.ok);
    CHECK(killed.step == step_killed);
}

TEST_CASE("a child that was killed is told from one that ended by itself")
{
    const auto start = [](bool killed) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            if (killed) {
                (void)::raise(SIGKILL);
            }
            ::_exit(1);
        }
        return ChildProcess(pid);
    };
    CHECK(start(true).was_killed());
    CHECK_FALSE(start(false).was_killed());
}

TEST_CASE("one launcher waits after a launch, and none is left in the end")
{
    {
        Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
        CHECK(children().empty());
        CHECK(launchers.launch(probe(), {}).ok);
        const auto waiting = the_waiting_one();
        // It is used, and another one takes its place. Not by the very next launch, maybe: until
        // the thread that started it has come to hand it over, a launch starts one of its own.
        CHECK(tests::becomes_true([&] {
            CHECK(launchers.launch(probe(), {}).ok);
            return !children().contains(*waiting.begin());
        }));
        CHECK(the_waiting_one() != waiting);
    }
    CHECK(children().empty());
}

TEST_CASE("launchers are forked from one zygote, children of this process that nobody is left of")
{
    const auto named = [](const std::string& name) {
        std::set<pid_t> found;
        for (const pid_t pid : children()) {
            if (test::read_text("/proc/" + std::to_string(pid) + "/comm") == name + "\n") {
                found.insert(pid);
            }
        }
        return found;
    };
    {
        Launchers launchers(test::program("BERTH_TEST_LAUNCHER"), true);
        CHECK(children().empty());
        CHECK(launchers.launch(probe(), {}).ok);
        std::set<pid_t> zygote;
        REQUIRE(tests::becomes_true([&] { // what it has forked has its name until it says its own
            zygote = named("berth-zygote");
            return zygote.size() == 1;
        }));
        CHECK(tests::becomes_true([&] { // the one that waits, once that of the launch has ended
            const auto waiting = named("berth-launcher");
            const pid_t pid = waiting.size() == 1 ? *waiting.begin() : -1;
            return children().size() == 2 && ::getsid(pid) == pid && // no terminal's signals
                   test::read_text("/proc/" + std::to_string(pid) + "/cmdline") ==
                       std::string("berth-launcher") + '\0';
        }));
        CHECK(launchers.launch(probe(), {}).ok);
        CHECK(tests::becomes_true([&] { return named("berth-zygote") == zygote; }));
        ::kill(*zygote.begin(), SIGKILL);
        CHECK(tests::becomes_true([&] { // the one that waits is of no use for that any more
            CHECK(launchers.launch(probe(), {}).ok);
            const auto now = named("berth-zygote");
            return now.size() == 1 && now != zygote;
        }));
    }
    CHECK(children().empty());
}

TEST_CASE("a zygote that was stopped does not hold up a launch for ever")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"), true, std::chrono::milliseconds(500));
    CHECK(launchers.launch(probe(), {}).ok);
    const auto stop = [] {
        for (const pid_t pid : children()) {
            if (test::read_text("/proc/" + std::to_string(pid) + "/comm") == "berth-zygote\n") {
                ::kill(pid, SIGSTOP);
            }
        }
    };
    stop();
    // Whoever wants the next launcher hears of it: a launch, or the thread that keeps one waiting,
    // after which a launch has another zygote.
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
        try {
            (void)launchers.launch(probe(), {});
        } catch (const Failure& failure) {
            CHECK(failure.what() == std::string("wait for the zygote to fork a launcher"));
        }
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    CHECK(tests::becomes_true([&] { return launchers.launch(probe(), {}).ok; }));
}

TEST_CASE("a launcher has the session's lock until it is done, whatever becomes of its server")
{
    const test::Bench bench;
    const std::string path = bench.directory() + "/lock";
    const auto open_lock = [&] {
        return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    const auto is_free = [&] {
        const UniqueFd other = open_lock();
        return ::flock(other.get(), LOCK_EX | LOCK_NB) == 0;
    };
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    for (int i = 0; i < 2; ++i) { // the second by one that has waited
        UniqueFd own = open_lock();
        REQUIRE(::flock(own.get(), LOCK_EX | LOCK_NB) == 0);
        const auto result = launchers.launch(
            launchers.reserve(), probe(), {.lock = own.get()},
            [&] {
                own.reset(); // as when the server is killed
                CHECK_FALSE(is_free());
                return Handover();
            },
            [] {});
        CHECK(result.ok);
        CHECK(tests::becomes_true(is_free));
    }
}

TEST_CASE("a waiting launcher that someone killed is replaced")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    CHECK(launchers.launch(probe(), {}).ok);
    ::kill(*the_waiting_one().begin(), SIGKILL);
    CHECK(tests::becomes_true([&] { return launchers.launch(probe(), {}).ok; }));
}

TEST_CASE("what failed inside is told, and the next launch is not harmed by it")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    LaunchSpec wrong = probe();
    change_base(wrong, [](RootParts& base) {
        base.binds.push_back({.source = "/nowhere/at/all", .target = "/nowhere"});
    });
    const auto result = launchers.launch(wrong, {});
    CHECK_FALSE(result.ok);
    CHECK(result.step == "mounts");
    CHECK(result.text.find("/nowhere/at/all") != std::string::npos);
    CHECK(launchers.launch(probe(), {}).ok);
}

TEST_CASE("a launcher that is not where it should be is told with what helps")
{
    for (const bool with_guest : {false, true}) {
        Launchers launchers("/nowhere/berth-launcher", with_guest);
        std::optional<LaunchResult> result;
        try {
            (void)launchers.launch(probe(), {});
        } catch (const Failure& failure) {
            result = to_result(failure);
        }
        REQUIRE(result);
        const auto blocker = explain(*result, "");
        CHECK(blocker.reason.find("/nowhere/berth-launcher") != std::string::npos);
        CHECK(blocker.remedy.find("BERTH_LIBEXEC_DIR") != std::string::npos);
    }
}

TEST_CASE("a long reason comes whole")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    LaunchSpec wrong = probe();
    const std::string name(6000, 'a');
    change_base(wrong, [&](RootParts& base) { base.directories.push_back("/" + name); });
    const auto result = launchers.launch(wrong, {});
    CHECK_FALSE(result.ok);
    CHECK(result.step == "mounts");
    CHECK(result.text.find(name) != std::string::npos);
}

TEST_CASE("a waiting launcher that died and cannot be replaced fails the launch, and no later one")
{
    Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
    CHECK(launchers.launch(probe(), {}).ok);
    ::kill(*the_waiting_one().begin(), SIGKILL);
    REQUIRE(tests::becomes_true([] { return children_that_run() == 0; }));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int free = ::dup(STDIN_FILENO);
    ::close(free);
    // Enough to find out that it has died, too little to start another.
    const rlimit one{.rlim_cur = static_cast<rlim_t>(free) + 1, .rlim_max = before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &one) == 0);
    CHECK_THROWS((void)launchers.launch(probe(), {}));
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(launchers.launch(probe(), {}).ok);
}

TEST_CASE("a launch is not undone by the want of a thread")
{
    pthread_attr_t before{};
    pthread_attr_t huge{};
    REQUIRE(::pthread_getattr_default_np(&before) == 0);
    REQUIRE(::pthread_attr_init(&huge) == 0);
    // No address space has room for it, so no thread can be made.
    REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50U) == 0);
    REQUIRE(::pthread_setattr_default_np(&huge) == 0);
    {
        Launchers launchers(test::program("BERTH_TEST_LAUNCHER"));
        CHECK_NOTHROW(CHECK(launchers.launch(probe(), {}).ok));
        CHECK(children().empty());
    }
    ::pthread_setattr_default_np(&before);
    ::pthread_attr_destroy(&huge);
    ::pthread_attr_destroy(&before);
}
