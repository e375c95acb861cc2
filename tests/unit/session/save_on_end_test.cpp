#include "sandbox/session/session_manager.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

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

using namespace berth;
using namespace std::chrono_literals;
using session::AtEnd;
using session::key_hash;
using tests::work;

namespace {

const session::SessionId unnamed{"ann", "", {}};

/// Servers that shall save `out`, to a workspace which may be full.
struct Fixture : tests::ManagerFixture {
    Fixture()
    {
        settings.save_on_end = {.patterns = {"out"}, .workspace = "/workspace"};
        settings.choose_folder = [this](const session::Leaving& leaving) {
            CHECK(leaving.folder.empty());
            return "/sessions/work" +
                   (saved.empty() ? std::string() : '-' + std::to_string(saved.size() + 1));
        };
        settings.save = [this](sandbox::Sandbox& sandbox, const session::Leaving& leaving,
                               const std::stop_token& /*stop*/) {
            const auto& machine = sandbox.machine().record();
            CHECK(std::filesystem::exists(backend->alive(machine.data.at("key_hash"))));
            if (during) {
                during(leaving.id.session);
            }
            if (full) {
                throw Error(ErrorCode::no_space, "the disk is full", "make room");
            }
            saved.push_back(leaving);
            if (sticks) {
                backend->before_end = [] { throw Error(ErrorCode::backend_error, "it sticks"); };
            }
            return session::SavedFiles{
                .session = {}, .folder = leaving.folder, .files = 1, .bytes = 5, .skipped = {}};
        };
        settings.on_unsaved = [this](const std::string& session, const std::string& why) {
            told.push_back(session + ": " + why);
        };
    }

    std::function<void(const std::string& session)> during; ///< each save
    bool full = false;
    bool sticks = false; ///< no machine ends once files are saved
    std::vector<session::Leaving> saved;
    std::vector<std::string> told;

    [[nodiscard]] session::Collected collect(bool thorough = true) const
    {
        return start()->collect_leftovers(Deadline::after(5s), {},
                                          {.old = thorough, .older_than = {}});
    }

    [[nodiscard]] bool has_home(const std::string& key = key_hash(work)) const
    {
        return std::filesystem::exists(backend->home(key));
    }

    [[nodiscard]] nlohmann::json record() const
    {
        return nlohmann::json::parse(text_of(folder(work) + "/record.json"));
    }
};

} // namespace

TEST_SUITE("session/save_on_end")
{
    TEST_CASE_FIXTURE(Fixture, "a session that is ended has its files saved, from the home alone")
    {
        settings.mounts = {{.source = "/srv", .target = "/home/user/srv", .writable = true}};
        settings.network = sandbox::Network::host;
        const auto manager = start();
        (void)manager->acquire(work);
        const auto ended = manager->kill(work, false);
        REQUIRE(ended);
        REQUIRE(ended.saved);
        CHECK(ended.saved->session == "work");
        REQUIRE(saved.size() == 1);
        CHECK(saved[0].id.principal == "ann");
        CHECK(saved[0].what.patterns == std::vector<std::string>{"out"});
        CHECK(saved[0].folder == "/sessions/work");
        CHECK(saved[0].is_first);
        // The machine that it was done in had nothing of the session's, and is gone.
        CHECK(backend->last_spec.mounts.empty());
        CHECK(backend->last_spec.network == sandbox::Network::none);
        CHECK(backend->last_spec.ends_with_server);
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK(has_home());
        CHECK(collect().saved.empty()); // once for each machine
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, true).saved);
        CHECK(saved.at(1).folder == "/sessions/work"); // where those of the session went before
        CHECK_FALSE(saved.at(1).is_first);
        CHECK_FALSE(has_home());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
    }

    TEST_CASE_FIXTURE(Fixture, "who ends a making has saved what the session owed before it")
    {
        full = true;
        (void)start()->acquire(work);
        CHECK_FALSE(start()->kill(work, false).saved);
        full = false;
        std::atomic<bool> begun = false;
        std::atomic<bool> interrupted = false;
        backend->before_ready = [&] {
            if (!begun.exchange(true)) {
                CHECK(tests::becomes_true([&] { return interrupted.load(); }));
                throw Error(ErrorCode::backend_error, "its guest was ended");
            }
        };
        backend->on_interrupt = [&] { interrupted = true; };
        const std::jthread maker([&] {
            CHECK(tests::error_of([&] { (void)start()->acquire(work); }) ==
                  ErrorCode::backend_error);
        });
        REQUIRE(tests::becomes_true([&] { return begun.load(); }));
        CHECK(start()->kill(work, false).saved);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what is owed is so still after a server that was told nothing of it")
    {
        (void)start()->acquire(work);
        end_machine(work);
        const auto named = std::exchange(settings.save_on_end, {});
        SUBCASE("which makes the next machine")
        {
            (void)start()->acquire(work);
            settings.save_on_end = named;
            REQUIRE(start()->kill(work, true).saved);
            CHECK(saved.at(0).what == named);
        }
        SUBCASE("but not where it was told that nothing is to be saved")
        {
            settings.asked.insert("session.save_on_end");
            (void)start()->acquire(work);
            CHECK_FALSE(start()->kill(work, true).saved);
        }
        SUBCASE("nor with a home that was made anew")
        {
            std::filesystem::remove_all(backend->home(key_hash(work)));
            (void)start()->acquire(work);
            CHECK_FALSE(start()->kill(work, true).saved);
        }
        SUBCASE("and once it was saved, nothing is")
        {
            REQUIRE(start()->kill(work, false).saved);
            (void)start()->acquire(work);
            CHECK_FALSE(start()->kill(work, true).saved);
        }
        CHECK_FALSE(has_home());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what is owed to one principal is not taken from the files of another")
    {
        const session::SessionId of_ann{"ann", "work", "one"};
        const session::SessionId of_bob{"bob", "work", "one"};
        (void)start()->acquire(of_ann);
        end_machine(of_ann);
        settings.save_on_end = {};
        (void)start()->acquire(of_bob);
        CHECK_FALSE(start()->kill(of_bob, false).saved);
        CHECK(saved.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "where nothing was asked for no machine is made for it")
    {
        settings.save_on_end.patterns.clear();
        const auto manager = start();
        (void)manager->acquire(work);
        CHECK_FALSE(manager->kill(work, false).saved);
        CHECK(collect().saved.empty());
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what cannot be saved keeps its home, also from a purge, and is told")
    {
        full = true;
        const auto manager = start();
        (void)manager->acquire(work);
        const auto ended = manager->kill(work, true);
        CHECK(ended);
        CHECK_FALSE(ended.saved);
        CHECK(ended.trouble == "the disk is full");
        CHECK(ended.remedy == "make room");
        CHECK(has_home());
        const auto facts = manager->facts(work);
        CHECK(facts.state == "ended");
        CHECK(facts.why.find("session.save_on_end") != std::string::npos);
        CHECK(facts.why.find("the disk is full") != std::string::npos);
        const auto collected = collect();
        REQUIRE(collected.failed.size() == 1);
        CHECK(collected.failed[0].find("the disk is full") != std::string::npos);
        CHECK_FALSE(collected.complete());
        CHECK(manager->kill(work, true).trouble == "the disk is full");
        CHECK(start()->kill(work, false).trouble == "the disk is full");
        CHECK(told == std::vector<std::string>{"work: the disk is full"}); // at its end, once
        SUBCASE("until it can be")
        {
            full = false;
            CHECK(collect().saved.size() == 1);
            CHECK(manager->kill(work, true));
        }
        SUBCASE("or nobody wants it")
        {
            CHECK(manager->kill(work, true, AtEnd::give_up));
            CHECK(saved.empty());
        }
        CHECK_FALSE(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "who gives it up is not asked again")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, false, AtEnd::give_up));
        CHECK(collect().saved.empty());
        CHECK(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "of a machine that ended by itself a collection saves, once")
    {
        (void)start()->acquire(work);
        end_machine(work);
        set_age(work, 13h);
        // Who only looks has no time for it.
        CHECK(collect(false).saved.empty());
        CHECK(saved.empty());
        CHECK(collect().saved.size() == 1);
        CHECK(record()["state"] == "ended");
        CHECK(collect().saved.empty());
        CHECK(saved.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "of a machine that ended by itself who kills the session saves")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        end_machine(work);
        // That server's own collection may have the lock at the moment.
        REQUIRE(tests::becomes_true([&] {
            (void)collect(false);
            return !record()["kept"].is_null();
        }));
        auto text = record();
        text["kept"]["counted"] = 1000;
        std::ofstream(folder(work) + "/record.json") << text;
        CHECK(manager->kill(work, false).saved);
        CHECK(record()["kept"]["counted"] >= 1000); // its retention does not begin anew
        CHECK_FALSE(manager->kill(work, false));
        CHECK(saved.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a home whose time is over is saved before it goes, or stays")
    {
        settings.told_retention = 1s;
        (void)start()->acquire(work);
        REQUIRE(start()->kill(work, false, AtEnd::save).saved);
        (void)start()->acquire(work);
        end_machine(work);
        full = true;
        CHECK(collect().failed.size() == 1);
        auto changed = record();
        changed["kept"]["counted"] = 100;
        std::ofstream(folder(work) + "/record.json") << changed;
        CHECK(collect().failed.size() == 1);
        CHECK(has_home());
        full = false;
        const auto collected = collect();
        CHECK(collected.saved.size() == 1);
        CHECK(collected.removed == std::vector<std::string>{"work"});
        CHECK_FALSE(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "what the backend cannot clear up keeps nothing from being saved")
    {
        bool swept = false;
        settings.sweep_saves = [&](const Deadline&, const std::stop_token&) {
            swept = true;
            return session::SweptSaves{};
        };
        (void)start()->acquire(work);
        end_machine(work);
        backend->during_collection = [] { throw Error(ErrorCode::backend_error, "it sticks"); };
        const auto collected = collect();
        CHECK(collected.failed == std::vector<std::string>{"it sticks"});
        CHECK(saved.size() == 1);
        CHECK(swept);
    }

    TEST_CASE_FIXTURE(Fixture, "saves wait for all that is quick, and what failed for the others")
    {
        const auto end_one = [&](const std::string& name) {
            const session::SessionId id{"ann", name, {}};
            (void)start()->acquire(id);
            end_machine(id);
        };
        end_one("work");
        full = true;
        CHECK(collect().failed.size() == 1);
        full = false;
        const std::vector<std::string> others{"a", "b", "c", "d", "e"};
        for (const auto& name : others) {
            end_one(name);
        }
        std::vector<std::string> order;
        during = [&](const std::string& name) {
            order.push_back(name);
            for (const auto& other : others) {
                const auto state = nlohmann::json::parse(
                    text_of(folder({"ann", other, {}}) + "/record.json"))["state"];
                CHECK(state != "running");
            }
        };
        const int before = backend->count("collect");
        CHECK(collect().saved.size() == 6);
        CHECK(backend->count("collect") == before + 1);
        REQUIRE(order.size() == 6);
        CHECK(order.back() == "work");
    }

    TEST_CASE_FIXTURE(Fixture, "why something cannot be saved is told once for each reason")
    {
        (void)start()->acquire(work);
        end_machine(work);
        full = true;
        for (int round = 0; round < 3; ++round) {
            CHECK(collect().failed.size() == 1); // of each
        }
        CHECK(told == std::vector<std::string>{"work: the disk is full"});
        during = [](const std::string&) { throw Error(ErrorCode::internal, "it is on fire"); };
        (void)collect();
        (void)collect();
        during = nullptr;
        (void)collect();
        CHECK(told == std::vector<std::string>{"work: the disk is full", "work: it is on fire",
                                               "work: the disk is full"});
        during = [](const std::string&) { throw Error(ErrorCode::internal, "it is wet"); };
        CHECK(start()->kill_listed(key_hash(work), true, AtEnd::save).trouble == "it is wet");
        CHECK(told.back() == "work: it is wet"); // by its name, however it was named
    }

    TEST_CASE_FIXTURE(Fixture, "an unnamed session's files wait for the next collection")
    {
        std::string key;
        {
            const auto manager = start();
            (void)manager->acquire(unnamed);
            key = manager->list().at(0).key;
        }
        CHECK(saved.empty()); // a server that ends has no time
        CHECK(has_home(key));
        CHECK_FALSE(std::filesystem::exists(backend->alive(key)));
        CHECK(collect(false).cleared == 0);
        CHECK(has_home(key));
        CHECK(collect().saved.size() == 1);
        CHECK_FALSE(has_home(key));
        CHECK(start()->list().empty());
    }

    TEST_CASE_FIXTURE(Fixture, "what is saved is not saved again where its machine does not end")
    {
        sticks = true;
        const auto manager = start();
        (void)manager->acquire(work);
        std::string told_to_user;
        try {
            (void)manager->kill(work, true);
        } catch (const Error& error) {
            told_to_user = error.what();
        }
        CHECK(told_to_user.find("saved at /sessions/work") != std::string::npos);
        CHECK(told_to_user.find("it sticks") != std::string::npos);
        CHECK_FALSE(record()["saving"]["due"].get<bool>());
        CHECK(record()["saving"]["folder"] == "/sessions/work");
        CHECK(record()["saving"]["begun"].get<bool>());
        CHECK(has_home());
        backend->before_end = nullptr;
        CHECK(collect().cleared == 1);
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK_FALSE(record()["saving"]["begun"].get<bool>());
        CHECK(manager->kill(work, true));
        CHECK(saved.size() == 1);
        CHECK(told.empty());
        CHECK_FALSE(has_home());
    }

    TEST_CASE_FIXTURE(Fixture, "a folder that nothing came into is nobody's")
    {
        (void)start()->acquire(work);
        full = true;
        CHECK_FALSE(start()->kill(work, false).trouble.empty());
        CHECK(record()["saving"]["folder"] == "");
    }

    TEST_CASE_FIXTURE(Fixture, "a folder of the workspace is that of one home and one principal")
    {
        const session::SessionId shared{"ann", "work", "a key without the principal"};
        auto next = shared;
        (void)start()->acquire(shared);
        REQUIRE(start()->kill(shared, false).saved);
        SUBCASE("and stays theirs")
        {
            (void)start()->acquire(next);
            REQUIRE(start()->kill(next, false).saved);
            CHECK(saved.at(1).folder == "/sessions/work");
            return;
        }
        SUBCASE("not of another's who comes to it")
        {
            next.principal = "bob";
        }
        SUBCASE("not of a home that is made anew")
        {
            std::filesystem::remove(backend->home(key_hash(shared)));
        }
        (void)start()->acquire(next);
        REQUIRE(start()->kill(next, false).saved);
        CHECK(saved.at(1).id.principal == next.principal);
        CHECK(saved.at(1).folder == "/sessions/work-2");
        CHECK(saved.at(1).is_first);
    }

    TEST_CASE_FIXTURE(Fixture, "a server that died while it saved leaves nothing in the way")
    {
        (void)start()->acquire(work);
        end_machine(work);
        CHECK(collect(false).cleared == 1);
        auto changed = record();
        changed["saving"]["begun"] = true;
        std::ofstream(folder(work) + "/record.json") << changed;
        std::ofstream(backend->alive(key_hash(work))) << "of the one that saved";
        SUBCASE("for the next collection")
        {
            CHECK(collect().saved.size() == 1);
        }
        SUBCASE("for a call")
        {
            (void)start()->acquire(work);
        }
        CHECK(backend->count("TWICE") == 0);
        CHECK_FALSE(record()["saving"]["begun"].get<bool>());
    }
}
