// Records that say "creating" of a machine that has been there since: their books came back as they
// were while it was made.

#include "sandbox/left_behind.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/session/redis_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::work;

namespace {

namespace redis_keys = session::redis_keys;

struct Fixture : tests::RedisFixture {
    const std::string record = redis_keys::record(key_hash(work));

    Fixture() { settings.lock_wait = 30s; }

    /// What the books say while its next machine is made is what they will come back with.
    void save_while_it_is_made()
    {
        backend->before_ready = [this] {
            REQUIRE(redis.say({"COPY", record, "saved", "REPLACE"}).number == 1);
        };
    }

    /// As if its time were over, in which servers write again what they know.
    void end_settling() const
    {
        (void)start()->list(); // which begins it
        CHECK(redis.say({"DEL", redis_keys::settling}).number == 1);
    }

    void come_back() const { REQUIRE(redis.say({"COPY", "saved", record, "REPLACE"}).number == 1); }

    [[nodiscard]] session::Collected collect() const
    {
        return start()->collect_leftovers(Deadline::after(20s), {},
                                          {.old = true, .older_than = {}});
    }

    [[nodiscard]] std::string state() const { return start()->list().at(0).state; }
};

/// Of machines that are bound to no host.
struct FarFixture : Fixture {
    const std::map<std::string, std::string> box{{"box", "i1"}};

    FarFixture()
    {
        settings.place.reset();
        backend->bound = false;
        save_while_it_is_made();
        (void)start()->acquire(work);
        backend->before_ready = {};
        backend->made_home = box;
        come_back();
    }
};

} // namespace

TEST_SUITE("session/creation_record")
{
    TEST_CASE_FIXTURE(Fixture, "a machine goes on whose books came back as they were while it was "
                               "made")
    {
        bool is_first = true;
        SUBCASE("the session's first") {}
        SUBCASE("one behind another whose making has failed, which had the same number")
        {
            (void)start()->acquire(work);
            REQUIRE(start()->kill(work, false));
            is_first = false;
            backend->before_ready = [this] {
                REQUIRE(redis.say({"COPY", record, "saved", "REPLACE"}).number == 1);
                throw Error(ErrorCode::sandbox_unavailable, "not now");
            };
            CHECK_THROWS_AS((void)start()->acquire(work), Error);
            backend->before_ready = {};
        }
        if (is_first) {
            save_while_it_is_made();
        }
        (void)tests::read(start()->acquire(work));
        const auto ended = backend->count("destroy");
        come_back();
        SUBCASE("and somebody clears up")
        {
            CHECK(collect().cleared == 0);
        }
        SUBCASE("and somebody looks")
        {
            CHECK(state() == "running");
        }
        SUBCASE("and is called") {}
        CHECK(start()->acquire(work).notices.empty());
        CHECK(state() == "running");
        CHECK(backend->count("destroy") == ended);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "how it was ended since is known too")
    {
        save_while_it_is_made();
        (void)start()->acquire(work);
        REQUIRE(start()->kill(work, false));
        come_back();
        SUBCASE("by whoever clears up")
        {
            (void)collect();
        }
        SUBCASE("by its next call") {}
        CHECK(tests::says(start()->acquire(work), "it was ended on request"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what was undone as the books could not be told of it is not told as "
                      "lost")
    {
        (void)start()->acquire(work);
        REQUIRE(start()->kill(work, false));
        (void)redis.say({"FLUSHALL"}); // so that there is a home, and nothing else is known of it
        std::filesystem::remove(folder(work) + "/last-machine");
        end_settling();
        backend->before_ready = [this] {
            REQUIRE(redis.say({"SAVE"}).text == "OK");
            redis.kill();
        };
        CHECK_THROWS_AS((void)start()->acquire(work), Error);
        backend->before_ready = {};
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        redis.start();
        end_settling();
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(FarFixture, "what its creation has made elsewhere is kept as its home")
    {
        std::string why = "the sandbox was lost";
        SUBCASE("by whoever clears up")
        {
            CHECK(collect().cleared == 1);
        }
        SUBCASE("by who ends it")
        {
            REQUIRE(start()->kill(work, false));
            why = "the sandbox had ended";
        }
        SUBCASE("by its next call") {}

        const auto lease = tests::read(start()->acquire(work));
        REQUIRE(lease.notices.size() == 1);
        CHECK(lease.notices[0].find(why) != std::string::npos);
        CHECK(lease.notices[0].find("files in the home are kept") != std::string::npos);
        CHECK(backend->last_spec.home == box);
        CHECK(backend->count("purge") == 0); // nor as one that came late
    }

    TEST_CASE_FIXTURE(Fixture, "what its own maker has given up is ended, not kept")
    {
        settings.place.reset();
        backend->bound = false;
        backend->before_ready = [] {
            throw sandbox::LeftBehind(Error(ErrorCode::sandbox_unavailable, "no answer"));
        };
        CHECK_THROWS_AS((void)start()->acquire(work), Error);
        backend->before_ready = {};
        backend->made_home = {{"box", "i1"}};
        CHECK(start()->acquire(work).notices.empty());
        CHECK(backend->last_spec.home.empty());
        CHECK(backend->count("purge") > 0);
    }

    TEST_CASE_FIXTURE(FarFixture, "and goes when its session is purged")
    {
        REQUIRE(start()->kill(work, true));
        CHECK(backend->count("purge") > 0);
        // What the record is told by, in books of other releases too.
        CHECK(start()->list().at(0).why ==
              "it was removed while its sandbox was being made: one that still comes is ended, "
              "then this goes");
    }
}
