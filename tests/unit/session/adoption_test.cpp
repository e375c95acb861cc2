#include "sandbox/left_behind.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::error_of;
using tests::says;
using tests::work;

namespace {

const session::SessionId kept{"ann", "kept", {}};

struct Fixture : tests::ManagerFixture {
    session::Adoption wanted{
        .to = kept, .end_machine = false, .any_principal = false, .deadline = Deadline::after(60s)};

    /// A session that has ended, whose home has files of its own.
    void end_one() const
    {
        const auto manager = start();
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, false));
        std::ofstream(backend->home(key_hash(work))) << "years of work";
    }

    session::Adopted adopt(const std::string& key = key_hash(work)) const
    {
        return start()->adopt(key, wanted);
    }

    [[nodiscard]] bool has_home(const session::SessionId& id) const
    {
        return std::filesystem::exists(backend->home(key_hash(id)));
    }

    [[nodiscard]] std::string state_of(const session::SessionId& id) const
    {
        return start()->facts(id).state;
    }

    /// A server that is killed in the middle of it.
    void adopt_and_die(std::function<void()> tests::FakeBackend::* when) const
    {
        (*backend).*when = [] { ::_exit(0); };
        adopt_and_die();
        (*backend).*when = nullptr;
    }

    void adopt_and_die() const
    {
        const pid_t pid = backend->fork();
        if (pid == 0) {
            try {
                (void)adopt();
            } catch (const std::exception&) {
                ::_exit(2);
            }
            ::_exit(1);
        }
        int status = -1;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        REQUIRE(status == 0);
    }

    void collect() const { (void)start()->collect_leftovers(Deadline::after(5s)); }

    void check_is_new() const
    {
        CHECK(has_home(kept));
        CHECK_FALSE(has_home(work));
        CHECK(state_of(kept) == "ended");
        CHECK(state_of(work) == "absent");
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        CHECK(start()->facts(kept).home == backend->home(key_hash(kept)));
    }

    void check_is_old() const
    {
        CHECK(has_home(work));
        CHECK_FALSE(has_home(kept));
        CHECK(state_of(work) == "ended");
        CHECK(state_of(kept) == "absent");
    }
};

} // namespace

TEST_SUITE("session/adoption")
{
    TEST_CASE_FIXTURE(Fixture, "the home of a session that has ended goes to another name")
    {
        end_one();
        const auto before =
            nlohmann::json::parse(text_of(folder(work) + "/record.json")).at("kept");
        const auto adopted = adopt();
        CHECK(adopted.from.session == "work");
        CHECK_FALSE(adopted.ended_machine);
        CHECK(adopted.home == backend->home(key_hash(kept)));
        check_is_new();
        CHECK(text_of(backend->home(key_hash(kept))) == "years of work");
        // What was counted of its retention goes with it.
        CHECK(nlohmann::json::parse(text_of(folder(kept) + "/record.json")).at("kept") == before);
        CHECK(says(start()->acquire(kept), "taken over from session work"));
    }

    TEST_CASE_FIXTURE(Fixture, "who used the session before is not told that its files are deleted")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        REQUIRE(manager->kill(work, false));
        (void)adopt();
        CHECK(says(manager->acquire(work), "or its home was given to another session"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a machine that does not say that nobody uses it is not ended for it")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        // A fake has no guest that could say that nobody uses it.
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::busy);
        CHECK(state_of(work) == "running");
        CHECK(state_of(kept) == "absent");
        CHECK_FALSE(std::filesystem::exists(folder(kept)));
        // Whatever is asked: it may be in use.
        wanted.end_machine = true;
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::busy);
        CHECK(state_of(work) == "running");
        REQUIRE(manager->kill(work, false));
        (void)adopt();
        check_is_new();
    }

    TEST_CASE_FIXTURE(Fixture, "nobody's session is overwritten, and none is taken by mistake")
    {
        end_one();
        SUBCASE("one that there is")
        {
            (void)start()->acquire(kept);
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::conflict);
        }
        SUBCASE("a home that no book knows")
        {
            std::ofstream(backend->home(key_hash(kept))) << "another's";
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::conflict);
            CHECK(text_of(backend->home(key_hash(kept))) == "another's");
        }
        SUBCASE("one of another principal")
        {
            wanted.to.principal = "bob";
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::permission_denied);
            CHECK(has_home(work));
            wanted.any_principal = true;
            (void)adopt();
            CHECK(start()->facts(wanted.to).state == "ended");
            return;
        }
        SUBCASE("one whose record is damaged")
        {
            std::ofstream(folder(work) + "/record.json") << "{";
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::backend_error);
        }
        SUBCASE("itself")
        {
            wanted.to = work;
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::invalid_argument);
        }
        SUBCASE("one of another backend")
        {
            backend->backend_name = "other";
            CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::sandbox_unavailable);
            backend->backend_name = "fake";
        }
        CHECK(has_home(work));
    }

    TEST_CASE_FIXTURE(Fixture, "who wants a name that is taken is told what frees it")
    {
        end_one();
        const auto refusal = [&] {
            try {
                (void)adopt();
            } catch (const Error& error) {
                return error;
            }
            FAIL("it was given");
            return Error(ErrorCode::internal, "");
        };
        const auto says = [](const std::string& text, const std::string& words) {
            return text.find(words) != std::string::npos;
        };
        SUBCASE("a home without a record")
        {
            (void)start()->acquire(kept);
            REQUIRE(start()->kill(kept, false));
            std::filesystem::remove(folder(kept) + "/record.json");
            const auto refused = refusal();
            CHECK(refused.code() == ErrorCode::conflict);
            const auto key = key_hash(kept);
            REQUIRE(says(refused.hint(), "`berth sessions adopt " + key + " --session OTHER"));
            (void)start()->adopt(key, {.to = {"ann", "other", {}},
                                       .end_machine = false,
                                       .any_principal = true,
                                       .deadline = Deadline::after(60s)});
            CHECK(start()->kill({"ann", "other", {}}, true));
        }
        SUBCASE("one that another server makes just then, whom nobody waits for")
        {
            backend->before_ready = [&] {
                const auto refused = refusal();
                CHECK(refused.code() == ErrorCode::conflict);
                CHECK(says(refused.hint(), "--purge"));
            };
            (void)start()->acquire(kept);
            REQUIRE(start()->kill(kept, true));
        }
        SUBCASE("one that began to be adopted, by whoever has died")
        {
            const session::SessionId third{"ann", "third", {}};
            (void)start()->acquire(third);
            REQUIRE(start()->kill(third, false));
            const pid_t dying = backend->fork();
            if (dying == 0) {
                backend->before_move = [] { ::_exit(0); };
                (void)adopt(key_hash(third));
                ::_exit(1);
            }
            int status = 0;
            REQUIRE(::waitpid(dying, &status, 0) == dying);
            REQUIRE(status == 0);
        }
        (void)adopt();
        CHECK(has_home(kept));
    }

    TEST_CASE_FIXTURE(Fixture, "the name of a session that was removed while its machine may still "
                               "come is not to be removed again")
    {
        settings.collects = false;
        backend->bound = false;
        backend->before_ready = [] {
            throw sandbox::LeftBehind(Error(ErrorCode::backend_error, "no answer came"));
        };
        CHECK_THROWS_AS((void)start()->acquire(kept), Error);
        backend->before_ready = {};
        REQUIRE(start()->kill(kept, true));
        (void)start()->acquire(work);
        try {
            (void)adopt();
            FAIL("it was given");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::busy);
            CHECK(std::string(error.hint()).find("--purge") == std::string::npos);
            CHECK(std::string(error.hint()).find("five minutes") != std::string::npos);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a home that no book knows is found by its key")
    {
        end_one();
        std::filesystem::remove_all(folder(work)); // the books are lost; the home is elsewhere here
        CHECK(start()->find_home_key(work, "work") == key_hash(work));
        CHECK(start()->find_home_key(kept, key_hash(work)) == key_hash(work));
        CHECK_FALSE(start()->find_home_key(kept, "kept"));
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::permission_denied); // whose is it?
        wanted.any_principal = true;
        CHECK(adopt().from.session.empty());
        check_is_new();
        wanted.to = {"ann", "third", {}};
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::not_found);
    }

    TEST_CASE_FIXTURE(Fixture, "who dies in the middle leaves the old session or the new one")
    {
        end_one();
        SUBCASE("before the home is moved")
        {
            adopt_and_die(&tests::FakeBackend::before_move);
            SUBCASE("for the next collection")
            {
                collect();
                check_is_old();
            }
            SUBCASE("for a call of the old one")
            {
                CHECK(says(start()->acquire(work), "had ended"));
                collect();
                CHECK(has_home(work));
                CHECK_FALSE(has_home(kept));
            }
            SUBCASE("for who tries again")
            {
                (void)adopt();
                check_is_new();
            }
        }
        SUBCASE("after it")
        {
            adopt_and_die(&tests::FakeBackend::after_move);
            SUBCASE("for the next collection")
            {
                collect();
            }
            SUBCASE("for who tries again")
            {
                (void)adopt();
            }
            check_is_new();
            CHECK(text_of(backend->home(key_hash(kept))) == "years of work");
        }
    }

    TEST_CASE_FIXTURE(Fixture, "who dies at any look after the move leaves one session")
    {
        std::function<void()> come_next;
        SUBCASE("for the next collection")
        {
            come_next = [&] {
                collect();
                check_is_new();
            };
        }
        SUBCASE("for a call of the new one")
        {
            come_next = [&] {
                CHECK(says(start()->acquire(kept), "taken over from session work"));
                CHECK(has_home(kept));
            };
        }
        SUBCASE("for who removes the new one")
        {
            come_next = [&] { REQUIRE(start()->kill(kept, true)); };
        }
        SUBCASE("for who gives it to a third one")
        {
            come_next = [&] {
                auto third = wanted;
                third.to = {"ann", "third", {}};
                (void)start()->adopt(key_hash(kept), third);
                CHECK(state_of(kept) == "absent");
                CHECK(has_home(third.to));
                REQUIRE(start()->kill(third.to, true));
            };
        }
        for (const int look : {1, 2}) { // where the home is, and whether the old one is gone
            CAPTURE(look);
            end_one();
            int left = look;
            backend->before_look = [&] {
                if (has_home(kept) && --left == 0) {
                    ::_exit(0);
                }
            };
            adopt_and_die();
            backend->before_look = nullptr;
            come_next();
            CHECK(state_of(work) == "absent");
            CHECK_FALSE(std::filesystem::exists(folder(work)));
            (void)start()->kill(kept, true);
        }
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what an adoption was broken off for is not used, ended or given away "
                      "before that is settled, where only records say which home is whose")
    {
        backend->bound = false;
        (void)start()->acquire(work);
        (void)start()->acquire(kept);
        REQUIRE(start()->kill(kept, false));
        const auto path = folder(kept) + "/record.json";
        auto record = nlohmann::json::parse(text_of(path));
        record["adopting"] = key_hash(work);
        std::ofstream(path) << record.dump();
        const auto made = backend->count("create");
        {
            const UniqueFd other(
                ::open((folder(work) + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            REQUIRE(::flock(other.get(), LOCK_EX) == 0);
            CHECK(error_of([&] { (void)start()->acquire(kept); }) == ErrorCode::busy);
            CHECK(error_of([&] { (void)start()->kill(kept, true); }) == ErrorCode::busy);
            CHECK(backend->count("create") == made);
        }
        CHECK(start()->acquire(kept).sandbox !=
              nullptr); // the other was used since: it has that home
        CHECK(nlohmann::json::parse(text_of(path)).value("adopting", "").empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a move that fails changes nothing")
    {
        end_one();
        backend->before_move = [] { throw Error(ErrorCode::backend_error, "no"); };
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::backend_error);
        check_is_old();
        CHECK_FALSE(std::filesystem::exists(folder(kept)));
    }

    TEST_CASE_FIXTURE(Fixture, "one that fails when the home is moved is finished")
    {
        end_one();
        backend->after_move = [] { throw Error(ErrorCode::backend_error, "the disk is full"); };
        CHECK(error_of([&] { (void)adopt(); }) == ErrorCode::backend_error);
        check_is_new();
        CHECK(text_of(backend->home(key_hash(kept))) == "years of work");
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that somebody else has made goes on as a session")
    {
        std::ofstream(backend->home("elsewhere")) << "theirs";
        backend->adopts_living = true;
        const session::Adoption adoption{.to = kept,
                                         .end_machine = false,
                                         .any_principal = false,
                                         .deadline = Deadline::after(5s)};
        (void)start()->adopt_machine("elsewhere", adoption);
        CHECK(state_of(kept) == "running");
        CHECK(error_of([&] { (void)start()->adopt_machine("another", adoption); }) ==
              ErrorCode::conflict); // the session has one
        CHECK(state_of(kept) == "running");
    }

    TEST_CASE_FIXTURE(Fixture, "two that want each other's names wait for one another")
    {
        for (int round = 0; round < 20; ++round) {
            CAPTURE(round);
            end_one();
            std::jthread other([&] {
                try {
                    (void)start()->adopt(key_hash(kept), {.to = work,
                                                          .end_machine = false,
                                                          .any_principal = false,
                                                          .deadline = Deadline::after(60s)});
                } catch (const Error&) {
                    return; // there was nothing to have, or it came first
                }
            });
            (void)error_of([&] { (void)adopt(); });
            other.join();
            CHECK(has_home(work) != has_home(kept));
            for (const auto& id : {work, kept}) {
                (void)start()->kill(id, true);
            }
        }
    }
}
