#include "sandbox/session/session_manager.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using session::SessionId;
using session::SessionManager;
using tests::FakeBackend;

namespace {

const SessionId work{"ann", "work"};
const SessionId unnamed{"ann", ""};

struct Fixture {
    tests::TemporaryDirectory directory;
    std::string machines = directory / "machines";
    std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>(machines);

    [[nodiscard]] std::unique_ptr<SessionManager> start(std::chrono::milliseconds wait = 120s,
                                                        session::Setup setup = {}) const
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        settings.lock_wait = wait;
        settings.setup = std::move(setup);
        return std::make_unique<SessionManager>(settings, backend);
    }

    /// Another server: `action` in a process of its own, whose exit status is its result.
    template <class Action>
    pid_t spawn(Action action) const
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

    /// Its server ended without a word.
    void leave_unnamed_of_a_dead_server() const
    {
        CHECK(wait_for(spawn([&] {
                  const auto manager = start();
                  (void)manager->acquire(unnamed);
                  ::_exit(0);
                  return 0;
              })) == 0);
    }

    /// A server that is in the middle of making the machine.
    pid_t spawn_stuck(const SessionId& id) const
    {
        const pid_t pid = spawn([&] {
            backend->before_ready = [] { std::this_thread::sleep_for(60s); };
            (void)start()->acquire(id);
            return 0;
        });
        for (int i = 0; i < 6000 && backend->count("create") == 0; ++i) {
            std::this_thread::sleep_for(5ms);
        }
        return pid;
    }

    static void kill_hard(pid_t pid)
    {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
};

} // namespace

TEST_SUITE("session/race")
{
    TEST_CASE_FIXTURE(Fixture, "sixty-four calls at once make one machine")
    {
        backend->before_ready = [] { std::this_thread::sleep_for(30ms); };
        const auto manager = start();
        std::mutex mutex;
        std::set<sandbox::Sandbox*> seen;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 64; ++i) {
                threads.emplace_back([&] {
                    const auto lease = manager->acquire(work);
                    const std::lock_guard lock(mutex);
                    seen.insert(lease.sandbox.get());
                });
            }
        }
        CHECK(seen.size() == 1);
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "servers that race for one key make one machine")
    {
        backend->before_ready = [] { std::this_thread::sleep_for(20ms); };
        for (int round = 0; round < 10; ++round) {
            const SessionId id{"ann", "round " + std::to_string(round)};
            std::vector<pid_t> servers;
            for (int i = 0; i < 6; ++i) {
                servers.push_back(spawn([&] {
                    const auto manager = start();
                    int failures = 0;
                    std::vector<std::jthread> threads;
                    for (int t = 0; t < 4; ++t) {
                        threads.emplace_back([&] { (void)manager->acquire(id); });
                    }
                    threads.clear();
                    return failures;
                }));
            }
            for (const pid_t server : servers) {
                CHECK(wait_for(server) == 0);
            }
            CHECK(backend->count("create " + key_hash(id)) == 1);
        }
        CHECK(backend->count("TWICE") == 0);
        CHECK(backend->count("destroy") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "different keys do not wait for each other")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(start()->acquire({"ann", "other"}).sandbox != nullptr);
        CHECK(std::chrono::steady_clock::now() - begin < 30s);
        kill_hard(stuck);
    }

    TEST_CASE_FIXTURE(Fixture, "who waits too long for another server is told to try again")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start(100ms);
        std::string said;
        try {
            (void)manager->acquire(work);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::busy);
            said = error.what() + error.hint();
        }
        // Whom it waits for, since when, and what to do where that stands still.
        for (const auto& part : {"pid " + std::to_string(stuck) + " on this host",
                                 std::string("20"), std::string("kill -CONT")}) {
            CAPTURE(part);
            CHECK(said.find(part) != std::string::npos);
        }
        CHECK(manager->facts(work).state == "creating");
        kill_hard(stuck);
    }

    TEST_CASE_FIXTURE(Fixture, "who ends what another server makes does not end what came after it")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start();
        const auto quicker = start();
        backend->on_interrupt = [&] {
            kill_hard(stuck);
            CHECK(quicker->acquire(work).sandbox != nullptr);
        };
        CHECK(manager->kill(work, /*purge=*/false).ended);
        CHECK(quicker->facts(work).state == "running");
        backend->on_interrupt = nullptr;
        CHECK(manager->kill(work, /*purge=*/false).ended);
        CHECK(quicker->facts(work).state == "ended");
    }

    TEST_CASE_FIXTURE(Fixture, "with its files goes also what came after it")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start();
        const auto quicker = start();
        backend->on_interrupt = [&] {
            kill_hard(stuck);
            CHECK(quicker->acquire(work).sandbox != nullptr);
        };
        CHECK(manager->kill(work, /*purge=*/true).ended);
        CHECK(quicker->facts(work).state == "absent");
    }

    TEST_CASE_FIXTURE(Fixture, "who cannot end what stands still is told that it ends all the same")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start(100ms);
        std::string said;
        try {
            (void)manager->kill(work, /*purge=*/false);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::busy);
            said = error.what() + error.hint();
        }
        CHECK(said.find("; what it was making is ended all the same") != std::string::npos);
        CHECK(said.find("kill -CONT") != std::string::npos);
        kill_hard(stuck);
    }

    TEST_CASE_FIXTURE(Fixture, "who waits for another server's setup is told how long it may take")
    {
        const pid_t stuck = spawn_stuck(work);
        const auto manager = start(100ms, {.commands = {"true"}, .timeout = 7s, .variables = {}});
        std::string advice;
        try {
            (void)manager->acquire(work);
        } catch (const Error& error) {
            advice = error.hint();
        }
        CHECK(advice.starts_with("session.setup may run in it, for 7 s at most: try again then. "));
        CHECK(advice.find("kill -CONT") != std::string::npos);
        kill_hard(stuck);
    }

    TEST_CASE_FIXTURE(Fixture, "a creator that is killed frees the key at once")
    {
        const pid_t stuck = spawn_stuck(work);
        std::jthread killer([&] {
            std::this_thread::sleep_for(100ms);
            kill_hard(stuck);
        });
        const auto begin = std::chrono::steady_clock::now();
        const auto lease = start()->acquire(work);
        CHECK(std::chrono::steady_clock::now() - begin < 30s);
        CHECK(lease.sandbox != nullptr);
        // What the dead one had half made was removed first, and nobody had used it.
        CHECK(backend->count("destroy") == 1);
        CHECK(backend->count("TWICE") == 0);
        CHECK(lease.notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "servers that end and use one session at once never make two machines")
    {
        std::vector<pid_t> servers;
        for (int i = 0; i < 4; ++i) {
            servers.push_back(spawn([&, i] {
                for (int round = 0; round < 30; ++round) {
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
                      "a dead server's unnamed session is collected, a living one's is not")
    {
        const auto living = start();
        (void)living->acquire(unnamed);
        const pid_t dead = spawn([&] {
            const auto manager = start();
            (void)manager->acquire(unnamed);
            (void)manager->acquire(work);
            ::_exit(0);
            return 0;
        });
        CHECK(wait_for(dead) == 0);
        // The living server's own collection may still be at work, and be the one that finds it.
        const auto next = start();
        (void)next->collect_leftovers(Deadline::after(60s));
        for (int i = 0; i < 6000 && next->list().size() > 2; ++i) {
            std::this_thread::sleep_for(5ms);
        }
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 0);
        CHECK(next->list().size() == 2);
        CHECK(next->facts(work).state == "running");
        CHECK(living->facts(unnamed).state == "running");
        CHECK(backend->count("purge") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "the first call of the next server collects in the background")
    {
        leave_unnamed_of_a_dead_server();
        const auto manager = start();
        (void)manager->acquire(work);
        for (int i = 0; i < 6000 && manager->list().size() > 1; ++i) {
            std::this_thread::sleep_for(5ms);
        }
        CHECK(manager->list().size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "what a named session's dead machine left is collected, and told")
    {
        // That server's own collection must be over: it may find the dead machine first.
        {
            const auto manager = start();
            (void)manager->acquire(work);
        }
        std::filesystem::remove(backend->alive(key_hash(work)));
        backend->certain = false;
        const auto next = start();
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 0);
        CHECK(backend->count("destroy") == 0);
        backend->certain = true;
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 1);
        CHECK(backend->count("destroy") == 1);
        CHECK(next->facts(work).state == "lost");
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 0);
        const auto lease = next->acquire(work);
        REQUIRE(lease.notices.size() == 1);
        CHECK(lease.notices[0].find("lost") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "a creation is collected when its server is dead, not before")
    {
        const pid_t server = spawn_stuck(work);
        const auto next = start();
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 0);
        CHECK(backend->count("destroy") == 0);
        ::kill(server, SIGKILL);
        (void)wait_for(server);
        CHECK(next->collect_leftovers(Deadline::after(60s)).cleared == 1);
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        // Nobody has had that machine: nothing is missed.
        CHECK(next->acquire(work).notices.empty());
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a server collects at its start, whether it is called or not")
    {
        leave_unnamed_of_a_dead_server();
        const auto manager = start();
        manager->start_collecting();
        for (int i = 0; i < 6000 && !manager->list().empty(); ++i) {
            std::this_thread::sleep_for(5ms);
        }
        CHECK(manager->list().empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a collection that has no time does nothing")
    {
        leave_unnamed_of_a_dead_server();
        CHECK(start()->collect_leftovers(Deadline::after(0s)).cleared == 0);
        CHECK(backend->count("purge") == 0);
    }
}
