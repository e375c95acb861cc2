// What is left by others: killed servers, deleted sessions, strangers in the state directory.

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/left_behind.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::error_of;
using tests::says;
using tests::work;

namespace {

using Fixture = tests::ManagerFixture;

} // namespace

TEST_SUITE("session/leftovers")
{
    TEST_CASE_FIXTURE(Fixture, "a machine that cannot be recorded goes, with the home it brought")
    {
        const std::string home = backend->home(key_hash(work));
        bool had_home = false;
        SUBCASE("which was new") {}
        SUBCASE("unless it was there before")
        {
            had_home = true;
            std::ofstream(home) << "years of work";
        }
        backend->before_ready = [&] {
            // No folder of a session can be made in a file.
            const auto sessions = settings.state_directory + "/sessions";
            std::filesystem::rename(sessions, sessions + ".aside");
            std::ofstream(sessions).flush();
        };
        CHECK_THROWS_AS((void)start()->acquire(work), Error);
        CHECK(backend->count("create") == 1);
        CHECK(backend->count(had_home ? "destroy" : "purge") == 1);
        CHECK(std::filesystem::exists(home) == had_home);
    }

    TEST_CASE_FIXTURE(Fixture, "who ends a session ends a machine too that other books know of")
    {
        const auto books = session::make_file_registry(settings.state_directory);
        const auto key = key_hash(work);
        (void)start()->acquire(work);
        const auto first = books->find(key);
        REQUIRE(first);
        REQUIRE(start()->kill(work, false));
        (void)start()->acquire(work);
        REQUIRE(backend->count("create") == 2);
        // As where the second was made by a server whose books are in a Redis.
        SUBCASE("one that is lost")
        {
            books->put(key, *first);
        }
        SUBCASE("one that has ended")
        {
            auto ended = *first;
            ended.state = session::State::ended;
            books->put(key, ended);
        }
        REQUIRE(start()->kill(work, true));
        sandbox::MachineRecord any;
        any.data["key_hash"] = key;
        CHECK(backend->is_gone(any));
        CHECK_FALSE(std::filesystem::exists(backend->home(key)));
    }

    TEST_CASE_FIXTURE(Fixture, "records in a state directory that others may write to are not read")
    {
        // Whoever put these there could have this server attach to a machine of theirs, and end
        // whatever process they name as one that a dead server left.
        const pid_t owner = backend->fork(); // dies with its background collection
        if (owner == 0) {
            const auto manager = start();
            (void)manager->acquire(work);
            (void)manager->acquire({"ann", ""});
            ::_exit(0);
        }
        REQUIRE(::waitpid(owner, nullptr, 0) == owner);
        REQUIRE(backend->count("create") == 2);
        const auto before = backend->count("destroy") + backend->count("purge");
        REQUIRE(::chmod(settings.state_directory.c_str(), 0777) == 0);
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::sandbox_unavailable);
        CHECK(error_of([&] { (void)manager->list(); }) == ErrorCode::sandbox_unavailable);
        CHECK(error_of([&] { (void)manager->kill(work, true); }) == ErrorCode::sandbox_unavailable);
        CHECK(error_of([&] {
                  (void)manager->collect_leftovers(Deadline::after(std::chrono::seconds(5)));
              }) == ErrorCode::sandbox_unavailable);
        CHECK(backend->count("destroy") + backend->count("purge") == before);
        CHECK(backend->count("create") == 2);
        REQUIRE(::chmod(settings.state_directory.c_str(), 0700) == 0);
        // The very same, once the directory is ours alone: nothing but that had kept it. The
        // manager's own collection may be the one that finds it.
        (void)manager->collect_leftovers(Deadline::after(60s));
        CHECK(tests::becomes_true([&] { return manager->list().size() == 1; }));
        CHECK(backend->count("destroy") + backend->count("purge") == before + 1);
    }

    TEST_CASE_FIXTURE(Fixture, "who comes later is told of the deletion, too")
    {
        const auto first = start();
        const auto second = start();
        (void)first->acquire(work);
        (void)second->acquire(work);
        CHECK(start()->kill(work, true));
        for (const auto* manager : {&first, &second}) {
            const auto lease = (*manager)->acquire(work);
            (*manager)->report_lost(work, lease); // the guest does not answer
            CHECK(says((*manager)->acquire(work), "the session was deleted with its files"));
        }
        CHECK(backend->count("create") == 2);
    }

    TEST_CASE_FIXTURE(Fixture, "a deletion is told, however many machines there were since")
    {
        const auto first = start();
        const auto second = start();
        (void)first->acquire(work);
        CHECK(second->kill(work, true));
        std::this_thread::sleep_for(1100ms); // sessions are told apart by the second
        (void)second->acquire(work);
        CHECK(second->kill(work, false));
        (void)second->acquire(work);
        first->report_lost(work, first->acquire(work));
        CHECK(says(first->acquire(work), "the session was deleted with its files"));
    }

    TEST_CASE_FIXTURE(Fixture, "where only the books have lost a session its files are not deleted")
    {
        const auto first = start();
        const auto second = start();
        (void)first->acquire(work);
        (void)second->acquire(work);
        std::filesystem::remove(folder(work) + "/record.json");
        for (const auto* manager : {&first, &second}) {
            (*manager)->report_lost(work, (*manager)->acquire(work));
            const auto lease = (*manager)->acquire(work);
            CHECK(says(lease, "the books of the sessions had lost its record"));
            CHECK(says(lease, "files in the home are kept"));
        }
        CHECK(backend->count("create") == 2);
    }

    TEST_CASE_FIXTURE(Fixture, "who comes later is told of a home that is gone, its record or not")
    {
        const auto first = start();
        const auto second = start();
        (void)first->acquire(work);
        (void)second->acquire(work);
        std::this_thread::sleep_for(1100ms); // sessions are told apart by the second
        end_machine(work);
        std::filesystem::remove(backend->home(key_hash(work)));
        for (const auto* manager : {&first, &second}) {
            (*manager)->report_lost(work, (*manager)->acquire(work));
            CHECK(says((*manager)->acquire(work), "the session was deleted with its files"));
        }
    }

    TEST_CASE_FIXTURE(Fixture, "what a server left that was killed as it began is removed")
    {
        (void)start()->acquire(work); // makes the folders
        const auto make = [&](char digit, bool old) {
            const auto path = settings.state_directory + "/sessions/" + std::string(64, digit);
            std::filesystem::create_directory(path);
            std::ofstream(path + "/server").flush();
            std::ofstream(path + "/token.tmp.0123").flush();
            if (old) {
                std::filesystem::last_write_time(
                    path, std::filesystem::file_time_type::clock::now() - 2min);
            }
            return path;
        };
        const auto old = make('a', true);
        const auto young = make('b', false);
        const auto used = make('c', true);
        const UniqueFd owner(::open((used + "/server").c_str(), O_RDWR | O_CLOEXEC));
        REQUIRE(::flock(owner.get(), LOCK_EX | LOCK_NB) == 0);
        const auto with_home = make('d', true);
        std::filesystem::create_directory(with_home + "/home");
        (void)start()->collect_leftovers(Deadline::after(5s));
        CHECK_FALSE(std::filesystem::exists(old));
        CHECK(std::filesystem::exists(young));
        CHECK(std::filesystem::exists(used + "/server"));
        CHECK(std::filesystem::exists(with_home + "/home"));
        CHECK(start()->list().size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "what killed writers left goes with a collection, not a young one")
    {
        (void)start()->acquire(work);
        const auto make = [&](const std::string& name, std::chrono::seconds age) {
            const auto path = folder(work) + '/' + name;
            std::ofstream(path) << "half";
            std::filesystem::last_write_time(path,
                                             std::filesystem::file_time_type::clock::now() - age);
            return path;
        };
        std::filesystem::create_directory(folder(work) + "/home");
        const auto users = make("home/notes.tmp.0123", 2h);
        const auto collect = [&] { (void)start()->collect_leftovers(Deadline::after(5s)); };
        for (const char* const of : {"record.json", "token", "used", "machine", "last-wanted"}) {
            CAPTURE(of);
            const auto old = make(of + std::string(".tmp.0123456789abcdef"), 2min);
            const auto young = make(of + std::string(".tmp.fedcba9876543210"), 0s);
            collect();
            CHECK_FALSE(std::filesystem::exists(old));
            CHECK(std::filesystem::exists(young));
        }
        CHECK(std::filesystem::exists(users));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a collection says which sessions others were just ending")
    {
        (void)start()->acquire(work);
        end_machine(work);
        const auto books = session::make_file_registry(settings.state_directory);
        const auto collect = [&] { return start()->collect_leftovers(Deadline::after(5s)); };
        {
            // As by a command that was killed, one of whose children is not gone yet.
            const auto lock = books->lock(key_hash(work), Deadline::after(5s));
            const auto collected = collect();
            CHECK(collected.busy == std::vector<std::string>{"work"});
            CHECK_FALSE(collected.complete());
            CHECK(collected.in_time);
            CHECK(collected.failed.empty());
        }
        const auto collected = collect();
        CHECK(collected.busy.empty());
        CHECK(collected.complete());
        CHECK(collected.cleared == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "who used a session that was purged while its machine may still "
                               "come is told so")
    {
        settings.collects = false;
        backend->bound = false;
        const auto manager = start();
        const auto lease = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, lease);
        backend->before_ready = [] {
            throw sandbox::LeftBehind(Error(ErrorCode::backend_error, "no answer came"));
        };
        CHECK_THROWS_AS((void)manager->acquire(work), Error);
        backend->before_ready = {};
        CHECK(start()->kill(work, true));
        const auto all = start()->list();
        REQUIRE(all.size() == 1);
        CHECK(all[0].why.find("then this goes") != std::string::npos);
        CHECK(all[0].why.find("kept") == std::string::npos);
        CHECK(says(manager->acquire(work), "the session was deleted with its files"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what may be left of a machine that could not be made of its settings "
                      "stays in the books")
    {
        settings.collects = false;
        backend->bound = false;
        bool may_be_left = true;
        SUBCASE("") {}
        SUBCASE("which is forgotten where nothing can be left")
        {
            may_be_left = false;
        }
        backend->before_ready = [&] {
            const Error refused(ErrorCode::invalid_argument, "no such template", "name another");
            if (may_be_left) {
                throw sandbox::LeftBehind(refused);
            }
            throw Error(refused);
        };
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::sandbox_unavailable);
        CHECK((manager->facts(work).state != "absent") == may_be_left);
    }

    TEST_CASE_FIXTURE(Fixture, "a collection says of which session something stays")
    {
        (void)start()->acquire(work);
        end_machine(work);
        backend->before_end = [] { throw Error(ErrorCode::backend_error, "it sticks"); };
        const auto collected = start()->collect_leftovers(Deadline::after(5s));
        CHECK(collected.failed == std::vector<std::string>{"session work: it sticks"});
        CHECK_FALSE(collected.complete());
        CHECK(collected.in_time);
    }

    TEST_CASE_FIXTURE(Fixture, "to look for a session that there is not leaves nothing behind")
    {
        const auto books = session::make_file_registry(settings.state_directory);
        session::MachineKeeper keeper(settings, *backend, *books);
        CHECK_FALSE(keeper.lock_existing(key_hash(work), Deadline::after(5s)));
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        const auto claim = books->claim(key_hash(work)); // of a server that is just beginning
        CHECK_FALSE(keeper.lock_existing(key_hash(work), Deadline::after(5s)));
        CHECK(claim->holds());
    }
}
