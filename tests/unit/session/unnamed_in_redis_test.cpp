// Sessions without a name whose books are in Redis: their server's claim lapses there after half a
// minute, and its host knows at once.

#include "sandbox/session/host_folders.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/redis_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;

namespace {

namespace redis_keys = session::redis_keys;

const session::SessionId unnamed{"ann", "", {}};

struct Fixture : tests::RedisFixture {
    pid_t server = -1;
    std::string key;

    Fixture() = default;
    Fixture(const Fixture&) = delete;
    Fixture& operator=(const Fixture&) = delete;

    ~Fixture() { kill_server(); }

    void spawn_server()
    {
        server = backend->fork();
        if (server == 0) {
            const auto manager = start();
            (void)manager->acquire(unnamed);
            std::this_thread::sleep_for(300s);
            ::_exit(0);
        }
        for (int i = 0; i < 6000 && key.empty(); ++i) {
            std::this_thread::sleep_for(5ms);
            const auto all = start()->list();
            key = all.empty() || all[0].state != "running" ? "" : all[0].key;
        }
        REQUIRE_FALSE(key.empty());
        // Killed with the lock in its hands, under which it has made the machine, it would leave
        // that for seconds.
        REQUIRE(tests::becomes_true(
            [&] { return redis.say({"EXISTS", redis_keys::lock(key)}).number == 0; }));
    }

    void kill_server()
    {
        if (server > 0) {
            ::kill(server, SIGKILL);
            ::waitpid(server, nullptr, 0);
            server = -1;
        }
    }

    /// As one of another host, or of a release that had none.
    void remove_trace() const { std::filesystem::remove(place_of_trace()); }

    [[nodiscard]] std::string place_of_trace() const
    {
        return settings.state_directory + "/sessions/" + key + "/server";
    }

    [[nodiscard]] session::Collected collect() const
    {
        return start()->collect_leftovers(Deadline::after(20s));
    }

    [[nodiscard]] bool is_known() const
    {
        return redis
                   .say({"EXISTS", redis_keys::record(key), redis_keys::claim(key),
                         redis_keys::lock(key)})
                   .number > 0;
    }
};

} // namespace

TEST_SUITE("session/unnamed_in_redis")
{
    TEST_CASE_FIXTURE(Fixture, "an unnamed session whose server is killed is collected at once")
    {
        SUBCASE("on this host") {}
        SUBCASE("on none")
        {
            backend->bound = false;
        }
        spawn_server();
        auto found = collect();
        CHECK(found.cleared == 0);
        CHECK(found.complete());
        kill_server();
        found = collect();
        CHECK(found.cleared == 1);
        CHECK(found.complete());
        CHECK_FALSE(is_known());
        CHECK_FALSE(std::filesystem::exists(settings.state_directory + "/sessions/" + key));
        CHECK_FALSE(std::filesystem::exists(backend->home(key)));
    }

    TEST_CASE_FIXTURE(Fixture, "one whose server stands still keeps it, though its claim lapses")
    {
        SUBCASE("and its machine has died")
        {
            backend->bound = true;
        }
        SUBCASE("also where machines are of no host")
        {
            backend->bound = false;
        }
        spawn_server();
        ::kill(server, SIGSTOP);
        (void)redis.say({"DEL", redis_keys::claim(key)});
        std::filesystem::remove(backend->alive(key));
        CHECK(collect().cleared == 0);
        CHECK(std::filesystem::exists(backend->home(key)));
        kill_server();
        // It may have been stopped with a lock in Redis in its hands, which lapses.
        CHECK(tests::becomes_true([&] { return collect().cleared == 1; }));
        CHECK_FALSE(std::filesystem::exists(backend->home(key)));
    }

    TEST_CASE_FIXTURE(Fixture, "what is not known of a server is said, with when it will be")
    {
        spawn_server();
        kill_server();
        remove_trace();
        std::filesystem::remove(backend->alive(key));
        (void)redis.say({"PEXPIRE", redis_keys::claim(key), "20000"});
        auto found = collect();
        CHECK(found.cleared == 0);
        CHECK_FALSE(found.complete());
        REQUIRE(found.silent.size() == 1);
        CHECK(found.silent[0].starts_with("unnamed-"));
        CHECK(found.lapse <= 20s);
        CHECK(found.lapse > 5s);
        (void)redis.say({"PEXPIRE", redis_keys::claim(key), "30000"}); // heard of just now
        found = collect();
        CHECK(found.cleared == 0);
        CHECK(found.complete());
        (void)redis.say({"DEL", redis_keys::claim(key)});
        CHECK(collect().cleared == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a machine of no host that somebody may work in is not ended from "
                               "another one, whatever Redis has heard of its server")
    {
        backend->bound = false;
        backend->ends = false;
        spawn_server();
        remove_trace(); // as on another host
        (void)redis.say({"DEL", redis_keys::claim(key)});
        CHECK(collect().cleared == 0);
        CHECK(std::filesystem::exists(backend->alive(key)));
        std::filesystem::remove(backend->alive(key));
        CHECK(tests::becomes_true([&] { return collect().cleared == 1; }));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "who purges a living one takes nothing from what its server makes next")
    {
        const auto manager = start();
        (void)manager->acquire(unnamed);
        key = start()->list().at(0).key;
        REQUIRE(start()->kill_listed(key, true, session::AtEnd::give_up));
        CHECK_FALSE(std::filesystem::exists(place_of_trace()));
        manager->report_lost(unnamed, manager->acquire(unnamed)); // as its next call finds
        (void)manager->acquire(unnamed);
        CHECK(std::filesystem::exists(place_of_trace()));
        CHECK(collect().cleared == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "who does not get its host's claim makes no machine without it")
    {
        const auto manager = start();
        (void)manager->acquire(unnamed);
        key = start()->list().at(0).key;
        REQUIRE(start()->kill_listed(key, true, session::AtEnd::give_up));
        manager->report_lost(unnamed, manager->acquire(unnamed)); // as its next call finds
        const session::HostFolders folders(settings.state_directory);
        SUBCASE("while another clears up")
        {
            backend->bound = true;
        }
        SUBCASE("also where machines are of no host")
        {
            backend->bound = false;
        }
        auto other = folders.claim(key, Deadline::after(5s));
        REQUIRE(other);
        const auto made = backend->count("create");
        CHECK(tests::error_of([&] { (void)manager->acquire(unnamed); }) == ErrorCode::busy);
        CHECK(backend->count("create") == made);
        std::thread look([&] { // as one does that looks whether its server lives
            std::this_thread::sleep_for(200ms);
            other.reset();
        });
        CHECK(manager->acquire(unnamed).sandbox != nullptr);
        look.join();
        CHECK(collect().cleared == 0);
    }
}
