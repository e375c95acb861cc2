// Servers whose books are in Redis: what becomes of sessions when it is away, and of those whose
// machine is on another host.

#include "sandbox/session/place.hpp"
#include "sandbox/session/redis_registry.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/redis_fixture.hpp"
#include "tests/unit/suspension.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using session::SessionManager;
using tests::becomes_true;
using tests::error_of;
using tests::says;
using tests::work;

namespace {

namespace redis_keys = session::redis_keys;

const session::SessionId unnamed{"ann", "", {}};

struct Fixture : tests::RedisFixture {
    /// A server on the host of that name, with another state directory if one is given.
    [[nodiscard]] std::unique_ptr<SessionManager> start_on(const std::string& host,
                                                           const std::string& state = {}) const
    {
        auto others = settings;
        others.state_directory = state.empty() ? settings.state_directory : state;
        others.place = session::this_place(host, others.state_directory);
        return std::make_unique<SessionManager>(others, backend);
    }

    void restart_empty()
    {
        redis.kill();
        redis.start();
    }
};

std::string refusal_of(const std::function<void()>& action)
{
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        return std::string(error.what()) + '\n' + error.hint();
    }
    return {};
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("session/redis_manager")
{
    TEST_CASE_FIXTURE(Fixture, "what one server made the next one finds, and no record is in files")
    {
        (void)start()->acquire(work);
        const auto manager = start();
        CHECK(manager->acquire(work).notices.empty());
        CHECK(backend->count("create") == 1);
        CHECK(manager->list().size() == 1);
        CHECK_FALSE(std::filesystem::exists(folder(work) + "/record.json"));
        CHECK_FALSE(std::filesystem::exists(folder(work) + "/token"));
        CHECK(manager->kill(work, true));
        CHECK(manager->list().empty());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "without Redis calls on live sessions go on, and new ones are refused")
    {
        const auto manager = start();
        const auto first = manager->acquire(work).sandbox;
        const auto destroyed = backend->count("destroy");
        redis.kill();
        for (int i = 0; i < 100; ++i) {
            CHECK(manager->acquire(work).sandbox->machine().record().id ==
                  first->machine().record().id);
        }
        const auto said = refusal_of([&] { (void)manager->acquire({"ann", "new", {}}); });
        CHECK(has(said, redis.address().shown()));
        CHECK(has(said, "cannot be reached: "));
        for (const auto& id : {work, unnamed}) {
            CHECK_FALSE(refusal_of([&] { (void)start()->acquire(id); }).empty());
        }
        CHECK_FALSE(refusal_of([&] { (void)manager->kill(work, false); }).empty());
        CHECK_FALSE(refusal_of([&] { (void)manager->list(); }).empty());
        CHECK(backend->count("create") == 1);
        CHECK(backend->count("destroy") == destroyed);
    }

    TEST_CASE_FIXTURE(Fixture, "a call that waited in vain to ask whether another server still "
                               "tells something is the only one for a while")
    {
        (void)start()->acquire(work);
        end_machine(work);
        auto teller = start();
        (void)teller->acquire(work);
        const auto manager = start();
        REQUIRE(manager->acquire(work).notices.empty());
        teller.reset(); // and has not told it
        (void)redis.say({"CLIENT", "PAUSE", "6000"});
        const auto has_waited = [&] {
            const auto begun = std::chrono::steady_clock::now();
            CHECK(manager->acquire(work).notices.empty());
            return std::chrono::steady_clock::now() - begun > 500ms;
        };
        REQUIRE(becomes_true(has_waited));
        {
            const tests::Suspension later(4s);
            CHECK_FALSE(has_waited());
        }
        CHECK(becomes_true([&] { // Redis is back
            return refusal_of([&] { (void)manager->list(); }).empty();
        }));
        const tests::Suspension later(60s); // ten times the longest that an attempt takes
        CHECK(says(manager->acquire(work), "the sandbox was lost"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "when Redis is back empty, a living session is neither lost nor doubled")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        (void)manager->acquire(unnamed);
        CHECK(becomes_true([&] { return manager->facts(work).state == "running"; }));
        const auto destroyed = backend->count("destroy");
        restart_empty();
        const auto other = start();
        CHECK(other->acquire(work).notices.empty());
        (void)other->collect_leftovers(Deadline::after(20s));
        CHECK(manager->acquire(work).notices.empty());
        CHECK(manager->facts(unnamed).state == "running");
        CHECK(backend->count("create") == 2);
        CHECK(backend->count("destroy") == destroyed);
        CHECK(backend->count("purge") == 0);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a home that was saved goes with whatever the key occupies")
    {
        settings.save_on_end = {.patterns = {"out"}, .workspace = "/workspace"};
        settings.choose_folder = [](const session::Leaving&) { return "/sessions/work"; };
        settings.save = [](sandbox::Sandbox&, const session::Leaving& leaving,
                           const std::stop_token&) {
            return session::SavedFiles{
                .session = {}, .folder = leaving.folder, .files = 1, .bytes = 5, .skipped = {}};
        };
        (void)start()->acquire(work);
        REQUIRE(start()->kill(work, true).saved);
        CHECK_FALSE(std::filesystem::exists(backend->home(key_hash(work))));
        // Not by what the books say of a machine, which may be another's.
        CHECK(backend->last_ended.generation.empty());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a machine that no book knows any more does not live beside a second one")
    {
        settings.lock_wait = 30s;     // five of them pass until other servers have written again
        (void)start()->acquire(work); // and its server is gone
        // As one of a release that kept no copy of its record here.
        REQUIRE(std::filesystem::remove(folder(work) + "/last-machine"));
        restart_empty();
        CHECK(start()->acquire(work).sandbox != nullptr);
        CHECK(backend->count("create") == 2);
        CHECK(backend->count("TWICE") == 0); // the first was ended
        CHECK(std::filesystem::exists(backend->home(key_hash(work))));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "who lost the lock while it made a machine ends that, and keeps the home")
    {
        backend->before_ready = [&] {
            (void)redis.say({"SET", redis_keys::lock(key_hash(work)), "another server"});
            // What the other has put into the home is not for us to delete.
            CHECK(becomes_true([&] { return backend->count("create") == 1; }));
            std::this_thread::sleep_for(1500ms); // a renewal has told
        };
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::busy);
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK(std::filesystem::exists(backend->home(key_hash(work))));
        CHECK(backend->count("purge") == 0);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "an unnamed session whose claim lapsed is kept while its machine lives")
    {
        const auto manager = start();
        (void)manager->acquire(unnamed);
        const auto key = start()->list().at(0).key;
        (void)redis.say({"SET", redis_keys::claim(key), "x"});
        std::this_thread::sleep_for(1500ms); // the manager learns it, and does not take it again
        (void)redis.say({"DEL", redis_keys::claim(key)});
        // As of a release that had no such thing: it knows better than any claim.
        REQUIRE(std::filesystem::remove(settings.state_directory + "/sessions/" + key + "/server"));
        const auto other = start();
        CHECK(other->collect_leftovers(Deadline::after(20s)).cleared == 0);
        CHECK(backend->count("purge") == 0);
        std::filesystem::remove(backend->alive(key));
        (void)redis.say({"SET", redis_keys::claim(key), "x"});
        CHECK(other->collect_leftovers(Deadline::after(20s)).cleared == 0); // somebody has it
        (void)redis.say({"DEL", redis_keys::claim(key)});
        CHECK(other->collect_leftovers(Deadline::after(20s)).cleared == 1);
        CHECK(backend->count("purge") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a session on another host is neither reached, replaced, ended nor "
                               "collected")
    {
        (void)start_on("a")->acquire(work);
        const auto manager = start_on("b");
        const auto refused = [&] {
            for (const auto& said : {refusal_of([&] { (void)manager->acquire(work); }),
                                     refusal_of([&] { (void)manager->kill(work, true); }),
                                     refusal_of([&] { (void)manager->pause(key_hash(work)); }),
                                     refusal_of([&] { (void)manager->resume(key_hash(work)); })}) {
                CHECK(has(said, "session 'work' and its files are on the host a"));
                CHECK(has(said, "Call a berth server on that host"));
                CHECK(has(said, "with this --registry and BERTH_SESSION_HOST='a'"));
            }
            CHECK(manager->collect_leftovers(Deadline::after(20s)).cleared == 0);
        };
        refused();
        CHECK(manager->facts(work).state == "running");
        CHECK(has(manager->facts(work).why, "on the host a"));
        CHECK(has(manager->show(key_hash(work))->trouble, "on the host a"));
        CHECK(manager->activities().empty());
        std::filesystem::remove(backend->alive(key_hash(work))); // not to be seen from here
        refused();
        CHECK(manager->facts(work).state == "running");
        CHECK(backend->count("create") == 1);
        CHECK(backend->count("destroy") + backend->count("purge") ==
              1); // of what might have been there at the creation
        SUBCASE("its own host replaces it")
        {
            CHECK(says(start_on("a")->acquire(work), "lost"));
        }
        SUBCASE("an ended one's home is there too")
        {
            CHECK(start_on("a")->kill(work, false));
            CHECK(has(refusal_of([&] { (void)manager->acquire(work); }), "on the host a"));
            CHECK(start_on("a")->acquire(work).sandbox != nullptr);
        }
        SUBCASE("and a purged one's name is free")
        {
            CHECK(start_on("a")->kill(work, true));
            CHECK(manager->acquire(work).sandbox != nullptr);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "two state directories of one host: the machine is shared, its home "
                               "stays where it is")
    {
        const auto elsewhere = directory / "elsewhere";
        (void)start_on("a")->acquire(work);
        const auto manager = start_on("a", elsewhere);
        CHECK(manager->acquire(work).notices.empty());
        CHECK(backend->count("create") == 1);
        end_machine(work);
        const auto said = refusal_of([&] { (void)start_on("a", elsewhere)->acquire(work); });
        CHECK(has(said, "in the state directory " + settings.state_directory));
        CHECK(has(said, "--state-dir '" + settings.state_directory + "'"));
        CHECK_FALSE(refusal_of([&] { (void)manager->kill(work, true); }).empty());
        CHECK(manager->collect_leftovers(Deadline::after(20s)).cleared == 0);
        CHECK(backend->count("create") == 1);
        CHECK(says(start_on("a")->acquire(work), "lost"));
    }

    TEST_CASE_FIXTURE(Fixture, "where a state directory was moved it is said how to go on")
    {
        const auto moved = directory / "moved";
        (void)start_on("a")->acquire(work);
        std::filesystem::rename(settings.state_directory, moved);
        end_machine(work);
        const auto said = refusal_of([&] { (void)start_on("a", moved)->acquire(work); });
        CHECK(has(said, "in the state directory " + settings.state_directory));
        CHECK(has(said, "That is not there: if it was moved, move it back, or `mkdir -p '"));
        std::filesystem::rename(moved, settings.state_directory);
        CHECK(says(start_on("a")->acquire(work), "lost"));
    }

    TEST_CASE_FIXTURE(Fixture, "machines that are bound to no host are everybody's")
    {
        backend->bound = false;
        (void)start_on("a")->acquire(work);
        CHECK(start_on("b", directory / "other")->acquire(work).notices.empty());
        CHECK(backend->count("create") == 1);
        CHECK(backend->count("destroy") == 0);
        end_machine(work);
        CHECK(says(start_on("b")->acquire(work), "lost"));
    }

    TEST_CASE_FIXTURE(Fixture, "of those one server of all hosts tells what nobody has read")
    {
        backend->bound = false;
        (void)start()->acquire(work);
        end_machine(work);
        auto one = start_on("a");
        CHECK(one->acquire(work).notices.size() == 1);
        const auto other = start_on("b", directory / "other");
        CHECK(other->acquire(work).notices.empty());
        one.reset(); // its client has not read it
        CHECK(says(start_on("c", directory / "third")->acquire(work), "lost"));
    }

    TEST_CASE("a host is known by its number and name, or by the name that it was given")
    {
        const auto usual = session::this_place("", "/no/such/folder/./x");
        CHECK(usual == session::this_place("", "/no/such/folder/x"));
        CHECK_FALSE(usual.host.empty());
        CHECK(usual.host_id.size() == 32);
        session::Record record;
        CHECK_FALSE(session::is_elsewhere(usual, record));
        record.place = usual;
        CHECK_FALSE(session::is_elsewhere(std::nullopt, record));
        CHECK_FALSE(session::is_elsewhere(usual, record));
        CHECK_FALSE(session::is_elsewhere(session::this_place(usual.host, "/x"), record));
        CHECK(session::is_elsewhere(session::this_place("other", "/x"), record));
        record.place->host_id = "another machine of that name";
        CHECK(session::is_elsewhere(usual, record));
        // Who knows that it is gone may speak for it.
        CHECK_FALSE(session::is_elsewhere(session::this_place(usual.host, "/x"), record));
    }
}
