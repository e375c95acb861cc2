// Machines whose records a Redis has lost, and that no server remembers: their host does.

#include "sandbox/session/place.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/manager_fixture.hpp"
#include "tests/unit/session/redis_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::work;

namespace {

namespace redis_keys = session::redis_keys;

struct Fixture : tests::ManagerFixture {
    tests::RedisServer redis;
    std::string token; ///< of the guest

    Fixture()
    {
        settings.redis = redis.address();
        settings.place = session::this_place("", settings.state_directory);
        settings.lock_wait = 30s;
    }

    /// The server that made it is gone.
    void make_one()
    {
        (void)start()->acquire(work);
        token = told_token();
    }

    [[nodiscard]] std::string told_token() const
    {
        return redis.say({"HGET", redis_keys::record(key_hash(work)), "token"}).text;
    }

    /// Nobody waits for servers that may write again what they know.
    void lose_all() const
    {
        (void)redis.say({"FLUSHALL"});
        (void)start()->list(); // which begins it
        CHECK(tests::becomes_true(
            [&] { return redis.say({"EXISTS", redis_keys::settling}).number == 0; }));
    }

    [[nodiscard]] std::string copy() const { return folder(work) + "/last-machine"; }

    [[nodiscard]] session::Collected collect() const
    {
        return start()->collect_leftovers(Deadline::after(20s), {},
                                          {.old = true, .older_than = {}});
    }
};

} // namespace

TEST_SUITE("session/lost_record")
{
    TEST_CASE_FIXTURE(Fixture, "a machine that the books have lost is in them again")
    {
        make_one();
        lose_all();
        SUBCASE("by whoever clears up")
        {
            const auto found = collect();
            CHECK(found.restored == std::vector<std::string>{"work"});
            CHECK(found.complete());
        }
        SUBCASE("by its session's next call")
        {
            CHECK(start()->acquire(work).notices.empty());
        }
        const auto all = start()->list();
        REQUIRE(all.size() == 1);
        CHECK(all[0].session == "work");
        CHECK(all[0].principal == "ann");
        CHECK(all[0].state == "running");
        CHECK(told_token() == token); // so that its guest can be spoken to
        CHECK(backend->count("create") == 1);
        CHECK(collect().restored.empty());
        REQUIRE(start()->kill(work, true));
        CHECK_FALSE(std::filesystem::exists(folder(work)));
    }

    TEST_CASE_FIXTURE(Fixture, "what is no machine's that lives does not come back")
    {
        make_one();
        SUBCASE("it has died")
        {
            end_machine(work);
        }
        SUBCASE("it was ended")
        {
            REQUIRE(start()->kill(work, false));
        }
        SUBCASE("another lives there")
        {
            std::ofstream(backend->alive(key_hash(work))) << "another";
        }
        SUBCASE("a later one was wanted")
        {
            std::ofstream(folder(work) + "/last-wanted") << "later";
        }
        SUBCASE("its copy is none")
        {
            std::ofstream(copy()) << "x";
        }
        lose_all();
        CHECK(collect().restored.empty());
        CHECK(start()->list().empty());
        CHECK(start()->acquire(work).sandbox != nullptr);
        CHECK(backend->count("create") == 2);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "the copy is for nobody else's eyes, and goes with the session")
    {
        make_one();
        CHECK((std::filesystem::status(copy()).permissions() & std::filesystem::perms::mask) ==
              (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
        REQUIRE(start()->kill(work, true));
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        (void)start()->acquire({"ann", "", {}}); // which ends with its server
        CHECK(start()->list().empty());
    }

    TEST_CASE_FIXTURE(Fixture, "whose place is another one's is not taken")
    {
        make_one();
        lose_all();
        settings.place = session::this_place("elsewhere", settings.state_directory);
        CHECK(collect().restored.empty());
        CHECK(start()->list().empty());
    }
}
