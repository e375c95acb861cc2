#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include <sys/stat.h>

// What cannot be found out is neither gone nor damaged, and what came to nothing leaves nothing.

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using session::SessionId;
using session::SessionManager;
using tests::error_of;
using tests::FakeBackend;

namespace {

const SessionId work{"ann", "work", {}};
const SessionId unnamed{"ann", "", {}};

struct Fixture {
    tests::TemporaryDirectory directory;
    std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>(directory / "machines");
    bool collects = true;

    [[nodiscard]] std::unique_ptr<SessionManager> start() const
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        settings.lock_wait = 5s;
        settings.collects = collects;
        return std::make_unique<SessionManager>(settings, backend);
    }

    [[nodiscard]] std::string folder(const SessionId& id) const
    {
        return directory / "state/sessions/" + key_hash(id);
    }
};

} // namespace

TEST_SUITE("session/doubt")
{
    TEST_CASE_FIXTURE(Fixture, "a machine of which it cannot be told whether it lives is kept")
    {
        (void)start()->acquire(work);
        const auto manager = start();
        backend->unsure = true;
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::backend_error);
        CHECK(manager->facts(work).state == "running");
        CHECK(backend->count("destroy") == 0);
        CHECK(backend->count("create") == 1);
        backend->unsure = false;
        CHECK(manager->acquire(work).notices.empty());
        backend->unsure = true;
        CHECK(manager->kill(work, false));
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that is used is told, also where its record is not there")
    {
        collects = false; // beside the move it would make the folder anew
        const auto manager = start();
        (void)manager->acquire(work);
        const std::string state = directory / "state";
        std::filesystem::rename(state, state + ".moved");
        const auto moved = manager->facts(work);
        CHECK(moved.state == "running");
        CHECK(moved.trouble.find(state + " moved") != std::string::npos);
        std::filesystem::rename(state + ".moved", state);
        CHECK(manager->facts(work).trouble.empty());
        CHECK(start()->kill(work, true));
        const auto deleted = manager->facts(work);
        CHECK(deleted.state == "absent");
        CHECK(deleted.why.find("was deleted with its files") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "a record that cannot be read now is not a damaged one")
    {
        (void)start()->acquire(work);
        const auto registry = session::make_file_registry(directory / "state");
        for (unsigned spare = 0; spare < 3; ++spare) { // folder, record and token
            CAPTURE(spare);
            const tests::DescriptorLimit limit(spare);
            try {
                (void)registry->find(key_hash(work));
                FAIL("read");
            } catch (const session::DamagedRecord&) {
                FAIL("damaged");
            } catch (const Error& error) {
                CHECK(std::string(error.what()).find("open files") != std::string::npos);
                CHECK(error.hint().find("ulimit -n") != std::string::npos);
                CHECK(error.hint().find("may write to") == std::string::npos);
            }
        }
        CHECK(registry->find(key_hash(work)).has_value());
    }

    TEST_CASE_FIXTURE(Fixture, "a damaged session is ended by the key that the list shows")
    {
        (void)start()->acquire(work);
        const auto manager = start();
        std::ofstream(folder(work) + "/record.json") << "{ half";
        const auto shown = manager->list().at(0);
        CHECK(shown.state == "damaged");
        CHECK_FALSE(manager->kill_listed("../sessions/" + shown.session, true));
        CHECK_FALSE(manager->kill({"ann", shown.session, {}}, true));
        CHECK(manager->kill_listed(shown.session, true));
        CHECK(backend->count("purge") == 1);
        CHECK(manager->list().empty());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
    }

    TEST_CASE_FIXTURE(Fixture, "a record that is no file is a damaged one, and ended as such")
    {
        const auto key = key_hash(work);
        const auto record = folder(work) + "/record.json";
        for (const std::string kind : {"folder", "pipe", "link", "token"}) {
            for (const bool end_first : {false, true}) {
                CAPTURE(kind);
                CAPTURE(end_first);
                (void)start()->acquire(work);
                const auto manager = start();
                if (kind == "token") {
                    std::filesystem::remove(folder(work) + "/token");
                    std::filesystem::create_directories(folder(work) + "/token/in it");
                } else {
                    std::filesystem::remove(record);
                }
                if (kind == "folder") {
                    std::filesystem::create_directories(record + "/in/it");
                } else if (kind == "pipe") {
                    REQUIRE(::mkfifo(record.c_str(), 0600) == 0);
                } else if (kind == "link") {
                    std::filesystem::create_symlink("nothing", record);
                }
                REQUIRE(manager->list().size() == 1);
                CHECK(manager->list()[0].state == "damaged");
                if (end_first) {
                    CHECK(manager->kill_listed(key, false));
                    CHECK(manager->list().at(0).state == "ended");
                    CHECK(std::filesystem::exists(backend->home(key)));
                }
                CHECK(manager->kill_listed(key, true));
                CHECK(manager->list().empty());
                CHECK_FALSE(std::filesystem::exists(folder(work)));
                CHECK_FALSE(std::filesystem::exists(backend->home(key)));
            }
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a session whose record was emptied was made when its folder was")
    {
        (void)start()->acquire(work);
        const auto begun = start()->facts(work).created;
        std::ofstream(folder(work) + "/record.json", std::ios::trunc).close();
        const auto manager = start();
        const auto sensible = [&](const std::string& created) {
            return created.substr(0, 10) >= begun.substr(0, 10); // no day before it
        };
        CHECK(manager->facts(work).state == "lost");
        CHECK(sensible(manager->facts(work).created));
        CHECK(sensible(manager->list().at(0).created));
        CHECK(manager->kill(work, false));
        CHECK(sensible(manager->facts(work).created));
        (void)manager->acquire(work);
        CHECK(sensible(manager->facts(work).created));
    }

    TEST_CASE_FIXTURE(Fixture, "a damaged session that was ended is listed until it is purged")
    {
        (void)start()->acquire(work);
        const auto manager = start();
        std::ofstream record(folder(work) + "/record.json", std::ios::trunc);
        SUBCASE("no JSON")
        {
            record << "garbage";
        }
        SUBCASE("emptied by a power loss") {}
        record.close();
        const auto key = key_hash(work);
        CHECK(manager->list().at(0).session == key);
        CHECK(manager->kill_listed(key, false));
        const auto list = manager->list();
        REQUIRE(list.size() == 1);
        CHECK(list[0].state == "ended");
        CHECK(list[0].key == key);
        CHECK(list[0].session == key);
        CHECK(list[0].why.find("damaged") != std::string::npos);
        CHECK(std::filesystem::exists(backend->home(key)));
        SUBCASE("its next call gives it its name again")
        {
            (void)manager->acquire(work);
            CHECK(manager->list().at(0).session == "work");
        }
        CHECK(manager->kill_listed(key, true));
        CHECK(manager->list().empty());
        CHECK_FALSE(std::filesystem::exists(backend->home(key)));
    }

    TEST_CASE_FIXTURE(Fixture, "what is wrong with a damaged record is said in words of one's own")
    {
        (void)start()->acquire(work);
        const auto said_of = [&](const std::string& text) {
            std::ofstream(folder(work) + "/record.json") << text;
            return start()->list().at(0).why;
        };
        CHECK(said_of("garbage\n").ends_with(": it is damaged: not JSON at line 1, column 1"));
        CHECK(said_of("{\n  half").ends_with(": it is damaged: not JSON at line 2, column 3"));
        CHECK(said_of("{}").ends_with(": it is damaged: a field is missing or is not of its kind"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what no name leads to any more is ended by what the list shows of it")
    {
        const SessionId red{"ann", "work", "{team} was red"};
        const SessionId blue{"ann", "work", "{team} was blue"};
        const auto server = start();
        for (const auto& id : {red, blue, unnamed}) {
            (void)server->acquire(id);
        }
        const auto manager = start();
        CHECK_FALSE(manager->kill(work, true)); // neither of the two that have its name
        CHECK_FALSE(manager->kill_listed("work", true));
        CHECK_FALSE(manager->kill_listed("", true));
        CHECK(manager->kill_listed(manager->facts(red).sandbox_id, false));
        CHECK(manager->facts(red).state == "ended");
        CHECK(manager->facts(blue).state == "running");
        CHECK(manager->kill_listed(key_hash(blue), true));
        CHECK(manager->facts(blue).state == "absent");
        for (const auto& shown : manager->list()) {
            CHECK(manager->kill_listed(
                shown.session.starts_with("unnamed-") ? shown.session : shown.key, true));
        }
        CHECK(manager->list().empty());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "where the name is no part of the key only the session's own leads to it")
    {
        const auto by_template = [](const std::string& word) {
            return SessionId{"ann", word, "{principal} is ann"};
        };
        const auto server = start();
        (void)server->acquire(by_template("mine"));
        (void)server->acquire(work); // of before the template was changed
        const auto manager = start();
        for (const auto& word : {manager->facts(work).sandbox_id, key_hash(work)}) {
            CHECK(manager->find_key(by_template(word), word) == key_hash(work));
        }
        CHECK_FALSE(manager->find_key(by_template("work"), "work")); // the list shows its key
        CHECK(manager->find_key(by_template("mine"), "mine") == key_hash(by_template("mine")));
        CHECK_FALSE(manager->find_key(by_template("other"), "other"));
    }

    TEST_CASE_FIXTURE(Fixture, "where no sandbox can be made a server leaves no folder")
    {
        backend->available = false;
        for (const auto& id : {work, unnamed}) {
            const auto manager = start();
            CHECK(error_of([&] { (void)manager->acquire(id); }) == ErrorCode::sandbox_unavailable);
            CHECK(std::filesystem::is_empty(directory / "state/sessions"));
        }
        backend->available = true;
        backend->before_ready = [] { throw Error(ErrorCode::backend_error, "no luck"); };
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(unnamed); }) == ErrorCode::backend_error);
        CHECK(std::filesystem::is_empty(directory / "state/sessions"));
        backend->before_ready = {};
        CHECK(manager->acquire(unnamed).sandbox != nullptr);
    }

    TEST_CASE_FIXTURE(Fixture, "a living unnamed session is never taken for a dead server's")
    {
        const auto living = start();
        const auto neighbour = start();
        (void)living->acquire(unnamed);
        std::jthread collector([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                (void)neighbour->collect_leftovers(Deadline::after(5s));
            }
        });
        for (int i = 0; i < 500; ++i) {
            living->report_lost(unnamed, living->acquire(unnamed));
        }
        CHECK(backend->count("purge") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "what a lease said to nobody the next one says, in its order")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        manager->tell_again(work, {.notices = {"third"}});
        manager->tell_again(work, {.notices = {"first", "second"}});
        CHECK(manager->acquire(work).notices ==
              std::vector<std::string>{"first", "second", "third"});
        CHECK(manager->acquire(work).notices.empty());
    }
}
