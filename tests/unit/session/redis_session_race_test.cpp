// Servers in processes of their own that share books in Redis, some of them killed.

#include "sandbox/session/redis_registry.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/redis_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using session::SessionId;
using tests::becomes_true;
using tests::work;

namespace {

struct Fixture : tests::RedisFixture {
    Fixture() { settings.lock_wait = 120s; }

    /// `action` in a process of its own, whose exit status is its result.
    template <class Action>
    [[nodiscard]] pid_t spawn(Action action) const
    {
        const pid_t pid = backend->fork();
        if (pid == 0) {
            int status = 99;
            try {
                status = action();
            } catch (const std::exception&) {
                status = 98;
            }
            ::_exit(status);
        }
        return pid;
    }

    static int wait_for(pid_t pid)
    {
        int status = -1;
        return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    static void kill_hard(pid_t pid)
    {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }

    /// A server that is in the middle of making the machine.
    [[nodiscard]] pid_t spawn_stuck(const SessionId& id) const
    {
        const pid_t pid = spawn([&] {
            backend->before_ready = [] { std::this_thread::sleep_for(60s); };
            (void)start()->acquire(id);
            return 0;
        });
        for (int i = 0; i < 6000 && backend->count("create " + key_hash(id)) == 0; ++i) {
            std::this_thread::sleep_for(5ms);
        }
        return pid;
    }
};

} // namespace

TEST_SUITE("session/redis_race")
{
    TEST_CASE_FIXTURE(Fixture, "servers that race for one key in Redis make one machine")
    {
        backend->before_ready = [] { std::this_thread::sleep_for(20ms); };
        for (int round = 0; round < 10; ++round) {
            const SessionId id{"ann", "round " + std::to_string(round), {}};
            std::vector<pid_t> servers;
            for (int i = 0; i < 5; ++i) {
                servers.push_back(spawn([&] {
                    (void)start()->acquire(id);
                    return 0;
                }));
            }
            for (const pid_t server : servers) {
                CHECK(wait_for(server) == 0);
            }
            CHECK(backend->count("create " + key_hash(id)) == 1);
        }
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "who waits for a creator that stands still is told which it is")
    {
        const pid_t stuck = spawn_stuck(work);
        ::kill(stuck, SIGSTOP);
        settings.lock_wait = 1s;
        const auto manager = start();
        const auto named = "pid " + std::to_string(stuck) + " on " + settings.place->host;
        const auto is_told = [&](const auto& action) {
            try {
                action();
                return false;
            } catch (const Error& error) {
                return error.code() == ErrorCode::busy &&
                       std::string(error.what()).find(named) != std::string::npos &&
                       error.hint().find("kill -CONT") != std::string::npos;
            }
        };
        CHECK(is_told([&] { (void)manager->acquire(work); }));
        // Its lock in Redis lapses; that of the host does not.
        CHECK(becomes_true([&] {
            return redis.say({"EXISTS", session::redis_keys::lock(key_hash(work))}).number == 0;
        }));
        CHECK(is_told([&] { (void)manager->acquire(work); }));
        CHECK(is_told([&] { (void)manager->kill(work, false); }));
        kill_hard(stuck);
        settings.lock_wait = 120s;
        CHECK(start()->acquire(work).sandbox != nullptr);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a creator that is killed frees the key in Redis within seconds")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start();
        CHECK(manager->facts(work).state == "creating");
        CHECK(manager->collect_leftovers(Deadline::after(20s)).cleared == 0); // it lives
        kill_hard(stuck);
        const auto begin = std::chrono::steady_clock::now();
        const auto lease = manager->acquire(work);
        const auto took = std::chrono::steady_clock::now() - begin;
        CHECK(lease.sandbox != nullptr);
        CHECK(lease.notices.empty());
        // Four seconds until it expires, and what a busy machine adds to that.
        CHECK(took < 15s);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "servers that end and use one session in Redis never make two machines")
    {
        std::vector<pid_t> servers;
        for (int i = 0; i < 4; ++i) {
            servers.push_back(spawn([&, i] {
                for (int round = 0; round < 15; ++round) {
                    const auto manager = start();
                    (void)manager->acquire(work);
                    if (i % 2 == 0) {
                        manager->kill(work, round % 3 == 0);
                    }
                }
                return 0;
            }));
        }
        for (const pid_t server : servers) {
            CHECK(wait_for(server) == 0);
        }
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a dead server's lock and claim in Redis expire, a living one's do not")
    {
        auto times = tests::settled();
        times.lock = 1s;
        times.claim = 1s;
        times.renewal = 100ms;
        const auto key = key_hash(work);
        const pid_t holder = spawn([&] {
            const auto registry = session::make_redis_registry(redis.address(), "child", times);
            const auto lock = registry->lock(key, Deadline::after(20s));
            const auto claim = registry->claim(key);
            backend->before_ready = {};
            std::ofstream(directory / "held").flush();
            std::this_thread::sleep_for(60s);
            return 0;
        });
        for (int i = 0; i < 6000 && !std::filesystem::exists(directory / "held"); ++i) {
            std::this_thread::sleep_for(5ms);
        }
        const auto registry = session::make_redis_registry(redis.address(), "parent", times);
        std::this_thread::sleep_for(2s);
        CHECK(registry->claim(key) == nullptr);
        CHECK(tests::error_of([&] { (void)registry->lock(key, Deadline::after({})); }) ==
              ErrorCode::busy);
        kill_hard(holder);
        CHECK(registry->lock(key, Deadline::after(60s))->holds());
        std::this_thread::sleep_for(1s);
        CHECK(registry->claim(key) != nullptr);
    }
}
