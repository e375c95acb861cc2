// A Redis that is back with what it had a while ago, when no server remembers what came after; and
// servers that are not done yet when their lock has passed on. The host itself knows better.

#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/redis_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::becomes_true;
using tests::error_of;
using tests::work;

namespace {

namespace redis_keys = session::redis_keys;

const std::string work_key = key_hash(work);

struct Fixture : tests::RedisFixture {
    Fixture()
    {
        settings.home_retention = 7 * 24h;
        settings.lock_wait = 30s;
    }

    void end_one() const
    {
        const auto manager = start();
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, false));
    }

    void change_record(const std::string& key,
                       const std::function<void(nlohmann::json& record)>& change) const
    {
        auto record =
            nlohmann::json::parse(redis.say({"HGET", redis_keys::record(key), "record"}).text);
        change(record);
        (void)redis.say({"HSET", redis_keys::record(key), "record", record.dump()});
    }

    /// As if it had ended eight days ago.
    void grow_old() const
    {
        change_record(work_key, [](nlohmann::json& record) {
            record.at("kept").at("counted") = 8 * 24 * 3600;
        });
    }

    /// With what was there at the last SAVE.
    void restore()
    {
        redis.kill();
        redis.start();
    }

    [[nodiscard]] session::Collected collect() const
    {
        const auto manager = start();
        (void)manager->list(); // a Redis that was restarted gives no lock for five seconds
        (void)redis.say({"DEL", redis_keys::settling}); // as if they were over
        return manager->collect_leftovers(Deadline::after(20s), {},
                                          {.old = true, .older_than = {}});
    }

    /// As of a release that kept none: what the host has kept is in lost_record_test.cpp.
    void forget_copy() const { std::filesystem::remove(folder(work) + "/last-machine"); }

    /// The session has ended a while ago, and Redis knows nothing of it any more.
    void lose_one()
    {
        end_one();
        forget_copy();
        std::filesystem::create_directory(folder(work) + "/home"); // that of a fake is elsewhere
        let_rest();
        restore();
    }

    /// As if nothing had been done in its folder for two minutes.
    void let_rest() const
    {
        for (const std::string name : {"/last-wanted", ""}) {
            std::filesystem::last_write_time(folder(work) + name,
                                             std::filesystem::file_time_type::clock::now() - 2min);
        }
    }

    [[nodiscard]] bool has_home() const { return std::filesystem::exists(backend->home(work_key)); }

    [[nodiscard]] bool lives() const { return std::filesystem::exists(backend->alive(work_key)); }
};

} // namespace

TEST_SUITE("session/host_evidence")
{
    TEST_CASE_FIXTURE(Fixture, "what a server left that was killed as it began is removed")
    {
        end_one();
        const auto sessions = settings.state_directory + "/sessions/";
        const auto make = [&](const std::string& key, std::chrono::minutes age) {
            const auto path = sessions + key;
            std::filesystem::create_directory(path);
            for (const char* name : {"lock", "last-wanted", "last-wanted.tmp.0123"}) {
                std::ofstream(path + '/' + name) << "x";
            }
            std::filesystem::last_write_time(path,
                                             std::filesystem::file_time_type::clock::now() - age);
            return path;
        };
        const auto bare = make(std::string(64, 'a'), 2min);
        const auto young = make(std::string(64, 'b'), 0min);
        const auto used = make(std::string(64, 'c'), 2min);
        const UniqueFd owner(::open((used + "/lock").c_str(), O_RDWR | O_CLOEXEC));
        REQUIRE(::flock(owner.get(), LOCK_EX | LOCK_NB) == 0);
        const auto with_home = make(std::string(64, 'd'), 2min);
        std::filesystem::create_directory(with_home + "/home");
        std::filesystem::last_write_time(with_home,
                                         std::filesystem::file_time_type::clock::now() - 2min);
        const auto known = sessions + work_key; // with the record, in Redis
        std::filesystem::last_write_time(known,
                                         std::filesystem::file_time_type::clock::now() - 2min);
        (void)collect();
        CHECK_FALSE(std::filesystem::exists(bare));
        CHECK(std::filesystem::exists(young));
        CHECK(std::filesystem::exists(used + "/lock"));
        CHECK(std::filesystem::exists(with_home + "/home"));
        CHECK(std::filesystem::exists(with_home + "/last-wanted"));
        CHECK(std::filesystem::exists(known + "/last-wanted"));
    }

    TEST_CASE_FIXTURE(Fixture, "a home that was used since is not removed on an old record's word")
    {
        end_one();
        grow_old();
        (void)redis.say({"SAVE"});
        SUBCASE("by a machine that has ended")
        {
            end_one();
        }
        SUBCASE("by a call that got none")
        {
            backend->before_ready = [] { throw Error(ErrorCode::backend_error, "it fails"); };
            CHECK_THROWS_AS((void)start()->acquire(work), Error);
        }
        restore();
        CHECK(collect().removed.empty());
        CHECK(has_home());
        CHECK(backend->count("purge") == 0);
        grow_old(); // it is counted from then on
        CHECK(collect().removed.size() == 1);
        CHECK_FALSE(has_home());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
    }

    TEST_CASE_FIXTURE(Fixture, "an old home that nobody used since goes all the same")
    {
        end_one();
        grow_old();
        (void)redis.say({"SAVE"});
        restore();
        CHECK(collect().removed.size() == 1);
        CHECK_FALSE(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that an old record calls ended is neither forgotten nor "
                               "doubled")
    {
        end_one();
        grow_old();
        (void)redis.say({"SAVE"});
        (void)start()->acquire(work); // and its server is gone
        forget_copy();
        const auto made = backend->count("create");
        restore();
        CHECK(collect().removed.empty());
        grow_old();
        CHECK(collect().removed.empty());
        CHECK(lives());
        CHECK(has_home());
        SUBCASE("a call ends it before it gets another")
        {
            (void)start()->acquire(work);
            CHECK(backend->count("create") == made + 1);
            CHECK(backend->count("TWICE") == 0);
        }
        SUBCASE("who ends the session ends it")
        {
            CHECK(start()->kill(work, false));
            CHECK_FALSE(lives());
            CHECK(has_home());
            CHECK_FALSE(start()->kill(work, false));
        }
        SUBCASE("who purges it purges all")
        {
            CHECK(start()->kill(work, true));
            CHECK_FALSE(lives());
            CHECK_FALSE(has_home());
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that took the place of the one in an old record is not "
                               "doubled")
    {
        (void)start()->acquire(work);
        (void)redis.say({"SAVE"});
        end_machine(work);
        (void)start()->acquire(work);
        forget_copy();
        restore();
        (void)start()->acquire(work);
        CHECK(backend->count("create") == 3);
        CHECK(backend->count("TWICE") == 0);
        CHECK(has_home());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "how a machine ended that an old record calls running its host knows")
    {
        (void)start()->acquire(work);
        (void)redis.say({"SAVE"});
        REQUIRE(start()->kill(work, false));
        restore();
        const auto manager = start();
        (void)manager->list();
        (void)redis.say({"DEL", redis_keys::settling});
        CHECK(manager->facts(work).state == "ended");
        CHECK(manager->facts(work).why.find("it was ended on request") != std::string::npos);
        const auto notices = manager->acquire(work).notices;
        REQUIRE(notices.size() == 1);
        CHECK(notices[0].find("it was ended on request") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "an old record of a creation ends no later machine")
    {
        (void)start()->acquire(work);
        forget_copy();
        change_record(work_key, [](nlohmann::json& record) {
            record["state"] = "creating";
            record["mark"] = "of a while ago";
        });
        (void)start()->collect_leftovers(Deadline::after(20s));
        CHECK(start()->facts(work).state == "lost");
        CHECK(lives());
        (void)start()->acquire(work);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "an unnamed session is kept whose record tells of another machine")
    {
        const auto manager = start();
        (void)manager->acquire({"ann", "", {}});
        const auto key = start()->list().at(0).key;
        (void)redis.say({"SET", redis_keys::claim(key), "x"});
        std::this_thread::sleep_for(1500ms); // the manager learns it, and does not take it again
        (void)redis.say({"DEL", redis_keys::claim(key)});
        REQUIRE(std::filesystem::remove(settings.state_directory + "/sessions/" + key + "/server"));
        change_record(key, [](nlohmann::json& record) { record["machine"]["generation"] = "old"; });
        CHECK(start()->collect_leftovers(Deadline::after(20s)).cleared == 0);
        CHECK(std::filesystem::exists(backend->home(key)));
    }

    TEST_CASE_FIXTURE(Fixture, "a creation that fails after its lock has passed on hurts no other")
    {
        std::atomic<int> entered{0};
        std::atomic<bool> undone{false};
        backend->before_ready = [&] {
            if (entered++ > 0) {
                CHECK(undone); // it has waited
                return;
            }
            (void)redis.say({"DEL", redis_keys::lock(work_key)});
            std::this_thread::sleep_for(2500ms); // the other has the lock by now
            undone = true;
            throw Error(ErrorCode::backend_error, "it fails");
        };
        const auto slow = start();
        const auto quick = start();
        std::jthread failing([&] {
            CHECK(error_of([&] { (void)slow->acquire(work); }) == ErrorCode::backend_error);
        });
        REQUIRE(becomes_true([&] { return entered == 1; }));
        CHECK(quick->acquire(work).sandbox != nullptr);
        failing.join();
        CHECK(lives());
        CHECK(has_home());
        CHECK(backend->count("TWICE") == 0);
        CHECK(quick->facts(work).state == "running");
        CHECK(slow->acquire(work).notices.empty()); // the very same
        CHECK(backend->count("create") == 2);
    }

    TEST_CASE_FIXTURE(Fixture, "a home that Redis has lost is listed, and goes after its retention")
    {
        lose_one();
        CHECK(collect().found == std::vector<std::string>{work_key});
        const auto listed = start()->list();
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].session == work_key);
        CHECK(listed[0].state == "ended");
        CHECK(listed[0].home == backend->home(work_key));
        CHECK(collect().found.empty());
        change_record(work_key, [](nlohmann::json& record) {
            record.at("kept").at("counted") = 7 * 24 * 3600 - 60;
        });
        CHECK(collect().removed.empty());
        CHECK(has_home());
        grow_old();
        CHECK(collect().removed == std::vector<std::string>{work_key});
        CHECK_FALSE(has_home());
        CHECK(start()->list().empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a home that was found is its session's again")
    {
        lose_one();
        REQUIRE(collect().found.size() == 1);
        SUBCASE("with its next call")
        {
            CHECK(tests::says(start()->acquire(work), "its home was found"));
            CHECK(start()->facts(work).state == "running");
            CHECK(start()->list().at(0).session == "work");
        }
        SUBCASE("or another's that takes it")
        {
            session::Adoption adoption;
            adoption.to = {"ann", "other", {}};
            adoption.deadline = Deadline::after(5s);
            CHECK(error_of([&] { (void)start()->adopt(work_key, adoption); }) ==
                  ErrorCode::permission_denied);
            adoption.any_principal = true;
            (void)start()->adopt(work_key, adoption);
            REQUIRE(start()->list().size() == 1);
            CHECK(start()->list()[0].session == "other");
        }
        SUBCASE("or nobody's")
        {
            REQUIRE(start()->kill_listed(work_key, true));
            CHECK_FALSE(has_home());
            CHECK(start()->list().empty());
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a home that may be in use is not told as lost")
    {
        lose_one();
        SUBCASE("by a machine that lives")
        {
            std::ofstream(backend->alive(work_key)) << "of whom nobody knows";
        }
        SUBCASE("by a server that cannot tell whether one does")
        {
            backend->certain = false;
        }
        SUBCASE("a moment ago")
        {
            std::ofstream(folder(work) + "/last-wanted") << "anew";
        }
        SUBCASE("by servers with books in files")
        {
            std::ofstream(folder(work) + "/record.json") << "{}";
            let_rest();
        }
        SUBCASE("by an unnamed session's server")
        {
            (void)redis.say({"SET", redis_keys::claim(work_key), "another server"});
        }
        CHECK(collect().found.empty());
        CHECK(start()->list().empty());
        CHECK(has_home());
    }
}
