#include "sandbox/base/wall_time.hpp"
#include "sandbox/session/home_keeper.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::says;
using tests::work;

namespace {

/// A session that has ended, with a home.
struct Fixture : tests::ManagerFixture {
    Fixture()
    {
        settings.home_retention = 7 * 24h;
        settings.on_removed = [this](const std::string& session) { told.push_back(session); };
    }

    std::vector<std::string> told;

    void end_one() const
    {
        const auto manager = start();
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, false));
    }

    void change_record(const std::function<void(nlohmann::json& record)>& change) const
    {
        const auto path = folder(work) + "/record.json";
        auto record = nlohmann::json::parse(text_of(path));
        change(record);
        std::ofstream(path) << record;
    }

    /// As if it had ended so much earlier in this boot.
    void age_by(std::chrono::seconds age) const
    {
        change_record([&](nlohmann::json& record) {
            auto& kept = record.at("kept");
            kept.at("counted") = kept.at("counted").get<long>() + age.count();
        });
    }

    [[nodiscard]] session::Collected
    collect(std::optional<std::chrono::seconds> instead = std::nullopt) const
    {
        return start()->collect_leftovers(Deadline::after(5s), {},
                                          {.old = true, .older_than = instead});
    }

    [[nodiscard]] bool has_home() const
    {
        return std::filesystem::exists(backend->home(key_hash(work)));
    }
};

} // namespace

TEST_SUITE("session/home_keeper")
{
    TEST_CASE_FIXTURE(Fixture, "the home of a session without a machine goes after its retention")
    {
        end_one();
        age_by(7 * 24h - 60s);
        CHECK(collect().removed.empty());
        CHECK(has_home());
        age_by(60s);
        const auto collected = collect();
        CHECK(collected.removed == std::vector<std::string>{"work"});
        CHECK(collected.complete());
        CHECK(told == collected.removed);
        CHECK_FALSE(has_home());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        CHECK(start()->facts(work).state == "absent");
    }

    TEST_CASE_FIXTURE(Fixture, "a machine keeps its home, and a new one starts the count anew")
    {
        end_one();
        age_by(6 * 24h);
        {
            const auto manager = start();
            (void)manager->acquire(work);
            CHECK(
                manager->collect_leftovers(Deadline::after(5s), {}, {.old = true, .older_than = 0s})
                    .removed.empty());
            REQUIRE(manager->kill(work, false));
        }
        age_by(6 * 24h);
        CHECK(collect().removed.empty());
        CHECK(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "a wall clock that is set removes no home")
    {
        end_one();
        change_record([](nlohmann::json& record) { record.at("kept").at("wall") = 0; });
        CHECK(collect().removed.empty());
        change_record([](nlohmann::json& record) {
            record.at("kept").at("wall") = 0;
            record.at("kept").at("boot") = "an earlier one";
        });
        CHECK(collect().removed.empty()); // an eighth of the retention is believed
        age_by(7 * 21h - 60s);
        CHECK(collect().removed.empty());
        age_by(60s);
        CHECK(collect().removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "what has passed is written down, so that a restart loses little")
    {
        end_one();
        change_record([](nlohmann::json& record) {
            auto& up = record.at("kept").at("up");
            up = up.get<long>() - 7200;
        });
        CHECK(collect().removed.empty());
        const auto kept = nlohmann::json::parse(text_of(folder(work) + "/record.json")).at("kept");
        CHECK(kept.at("counted").get<long>() >= 7200);
    }

    TEST_CASE_FIXTURE(Fixture, "who only clears up after the dead removes no home")
    {
        end_one();
        age_by(8 * 24h);
        CHECK(start()->collect_leftovers(Deadline::after(5s)).removed.empty());
        CHECK(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "a home that went without its record is told as deleted")
    {
        end_one();
        std::filesystem::remove(backend->home(key_hash(work)));
        CHECK(says(start()->acquire(work), "was deleted with its files"));
    }

    TEST_CASE_FIXTURE(Fixture, "what the operator says now counts, and else what was promised")
    {
        end_one();
        age_by(8 * 24h);
        SUBCASE("longer")
        {
            settings.told_retention = 30 * 24h;
            CHECK(collect().removed.empty());
        }
        SUBCASE("for ever")
        {
            settings.told_retention = 0s;
            CHECK(collect().removed.empty());
        }
        SUBCASE("a default is nobody's word")
        {
            settings.home_retention = 30 * 24h;
            CHECK(collect().removed.size() == 1);
        }
        SUBCASE("a profile's of the session is nobody else's to say")
        {
            settings.told_retention = 30 * 24h;
            change_record(
                [](nlohmann::json& record) { record.at("made_with").at("own_retention") = true; });
            CHECK(collect().removed.size() == 1);
        }
        SUBCASE("nor does a profile say it of other sessions")
        {
            settings.home_retention = 1h;
            settings.own_retention = true;
            SUBCASE("but what is said beside it holds")
            {
                settings.told_retention = 30 * 24h;
                CHECK(collect().removed.empty());
            }
            SUBCASE("nor of those that it finds without a record")
            {
                CHECK(session::usual_retention(settings) == 7 * 24h);
                CHECK(collect().removed.size() == 1); // as it was made with
            }
        }
        SUBCASE("a release that promised to keep it")
        {
            change_record(
                [](nlohmann::json& record) { record.at("made_with").erase("home_retention"); });
            CHECK(collect().removed.empty());
            settings.told_retention = 7 * 24h;
            CHECK(collect().removed.size() == 1);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a profile's retention is that of the sessions it makes")
    {
        settings.home_retention = 3 * 24h;
        settings.own_retention = true;
        end_one();
        settings = make_settings();
        settings.told_retention = 30 * 24h; // of all others
        age_by(3 * 24h - 1h);
        CHECK(collect().removed.empty());
        age_by(1h);
        CHECK(collect().removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "it stays with the session whose next machine another server makes")
    {
        settings.home_retention = 0s; // for ever
        settings.own_retention = true;
        end_one();
        settings = make_settings();
        settings.home_retention = 7 * 24h;
        SUBCASE("which was told nothing of it")
        {
            end_one();
            settings.told_retention = 1h; // of all others
            age_by(400 * 24h);
            CHECK(collect().removed.empty());
        }
        SUBCASE("unless that was told another")
        {
            settings.asked.insert("session.home_retention");
            end_one();
            age_by(7 * 24h);
            CHECK(collect().removed.size() == 1);
        }
        SUBCASE("or is another principal's, who has the home by now")
        {
            change_record([](nlohmann::json& record) { record.at("principal") = "somebody"; });
            end_one();
            age_by(7 * 24h);
            CHECK(collect().removed.size() == 1);
        }
        SUBCASE("or the home is another one by then")
        {
            std::filesystem::remove(backend->home(key_hash(work)));
            end_one();
            age_by(7 * 24h);
            CHECK(collect().removed.size() == 1);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a session that nobody has counted yet begins now")
    {
        end_one();
        change_record([](nlohmann::json& record) { record.erase("kept"); });
        set_age(work, 400 * 24h);
        CHECK(collect().removed.empty());
        age_by(7 * 24h);
        CHECK(collect().removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "an age that is asked for takes the place of the retention")
    {
        end_one();
        age_by(24h);
        CHECK(collect(25h).removed.empty());
        CHECK(collect(24h).removed.size() == 1);
        end_one();
        CHECK(collect(0s).removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a lost machine's home is kept as long, from when that is noticed")
    {
        (void)start()->acquire(work);
        end_machine(work);
        CHECK(collect().cleared == 1);
        age_by(7 * 24h - 60s);
        CHECK(collect().removed.empty());
        age_by(60s);
        CHECK(collect().removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "of a session that is in use now nothing is removed")
    {
        end_one();
        age_by(8 * 24h);
        backend->before_ready = [this] {
            // Whoever makes the machine holds the lock.
            CHECK(collect().removed.empty());
        };
        (void)start()->acquire(work);
        CHECK(has_home());
        CHECK(backend->count("purge") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a home that was wanted where no machine can be made is kept anew")
    {
        end_one();
        age_by(8 * 24h);
        SUBCASE("by a host that makes none")
        {
            backend->available = false;
            CHECK_THROWS_AS((void)start()->acquire(work), Error);
        }
        SUBCASE("by one that fails to")
        {
            backend->before_ready = [] { throw Error(ErrorCode::backend_error, "it fails"); };
            CHECK_THROWS_AS((void)start()->acquire(work), Error);
        }
        SUBCASE("by one that has as many as it may have")
        {
            settings.max_sessions = 1;
            (void)start()->acquire({"ann", "other", {}});
            CHECK_THROWS_AS((void)start()->acquire(work), Error);
        }
        CHECK(collect().removed.empty());
        CHECK(has_home());
        age_by(7 * 24h);
        CHECK(collect().removed.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "until when it is kept is told")
    {
        end_one();
        age_by(7 * 24h - 3600s);
        const auto in_an_hour = std::chrono::system_clock::now() + 3600s;
        const auto why = start()->facts(work).why;
        CHECK(why.find("; its home is kept until " + rfc3339(in_an_hour).substr(0, 15)) !=
              std::string::npos);
        for (int look = 0; look < 11; ++look) { // at each part of a second
            std::this_thread::sleep_for(100ms);
            CHECK(start()->facts(work).why == why);
        }
        change_record([](nlohmann::json& record) { record.erase("kept"); });
        CHECK(start()->facts(work).why == "it was ended on request; its home is kept");
    }
}
