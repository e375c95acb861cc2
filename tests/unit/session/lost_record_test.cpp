// Machines whose records a Redis has lost, and that no server remembers: their host does.

#include "sandbox/protocol/wire.hpp"
#include "sandbox/session/place.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/reports.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/redis_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::work;

namespace {

namespace redis_keys = session::redis_keys;

struct Fixture : tests::RedisFixture {
    std::string token; ///< of the guest

    Fixture() { settings.lock_wait = 30s; }

    /// The server that made it is gone.
    void make_one()
    {
        (void)start()->acquire(work);
        token = told_token();
    }

    /// Its guest has noted what nobody was told of.
    void end_with_words() const
    {
        end_machine(work);
        backend->noted = protocol::Parting::left;
        protocol::InfoReply words;
        words.ended.emplace_back().command = "make";
        words.ended.back().expected = true;
        words.ended.back().exit_code = 7;
        backend->words = protocol::encode(words);
    }

    [[nodiscard]] std::string told_token() const
    {
        return redis.say({"HGET", redis_keys::record(key_hash(work)), "token"}).text;
    }

    /// And the time is over in which servers may write again what they know.
    void lose_all() const
    {
        (void)redis.say({"FLUSHALL"});
        (void)start()->list();                                       // which begins it
        CHECK(redis.say({"DEL", redis_keys::settling}).number == 1); // as if its time were over
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

    TEST_CASE_FIXTURE(Fixture, "what became of a machine that is gone is known again, and told")
    {
        make_one();
        std::string why = "the sandbox was lost";
        bool collects = true; // else its session's next call comes first
        SUBCASE("it has died")
        {
            end_machine(work);
        }
        SUBCASE("it has died, and is called")
        {
            end_machine(work);
            collects = false;
        }
        SUBCASE("it was ended")
        {
            REQUIRE(start()->kill(work, false));
            why = "it was ended on request";
        }
        SUBCASE("it was ended, and is called")
        {
            REQUIRE(start()->kill(work, false));
            why = "it was ended on request";
            collects = false;
        }
        lose_all();
        if (collects) {
            CHECK(collect().restored == std::vector<std::string>{"work"});
            const auto all = start()->list();
            REQUIRE(all.size() == 1);
            CHECK(all[0].session == "work");
            CHECK((all[0].state == "lost" || all[0].state == "ended"));
        }
        CHECK(tests::says(start()->acquire(work), why));
        CHECK(backend->count("create") == 2);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "outcomes of a machine that was ended outlive the books' data")
    {
        make_one();
        end_with_words();
        SUBCASE("which the books had already")
        {
            CHECK(collect().cleared == 1);
            backend->words.clear();
        }
        SUBCASE("which only its guest's note has") {}
        lose_all();
        const auto lease = start()->acquire(work);
        REQUIRE(lease.notices.size() == 2);
        CHECK(lease.notices[0].find("it ended with exit 7") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "books that came back as they were before the latest machine have what "
                      "its host knows of it")
    {
        make_one();
        const auto first = token;
        const auto record = redis_keys::record(key_hash(work));
        REQUIRE(redis.say({"COPY", record, "saved"}).number == 1);
        REQUIRE(start()->kill(work, false));
        REQUIRE(tests::says(start()->acquire(work), "it was ended on request"));
        token = told_token();
        REQUIRE(token != first);
        const auto come_back = [&] {
            REQUIRE(redis.say({"COPY", "saved", record, "REPLACE"}).number == 1);
            REQUIRE(told_token() == first);
        };
        SUBCASE("it lives, and is called")
        {
            come_back();
            CHECK(start()->list().at(0).state == "running");
            CHECK(start()->acquire(work).notices.empty());
            CHECK(told_token() == token);
            CHECK(backend->count("create") == 2);
        }
        SUBCASE("it lives, and is ended")
        {
            come_back();
            REQUIRE(start()->kill(work, false));
            CHECK(told_token() == token);
            CHECK(start()->list().at(0).state == "ended");
            CHECK(tests::says(start()->acquire(work), "it was ended on request"));
        }
        SUBCASE("it has died, and with it what nobody was told of")
        {
            end_with_words();
            SUBCASE("which the books had already")
            {
                CHECK(collect().cleared == 1);
                backend->words.clear();
                come_back();
            }
            SUBCASE("which only its guest's note has")
            {
                come_back();
            }
            SUBCASE("and somebody clears up first")
            {
                come_back();
                (void)collect();
                backend->words.clear();
            }
            const auto lease = start()->acquire(work);
            REQUIRE(lease.notices.size() == 2);
            CHECK(lease.notices[0].find("it ended with exit 7") != std::string::npos);
            CHECK(backend->count("create") == 3);
        }
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a host that came back as it was before does not overrule the books")
    {
        make_one();
        REQUIRE(start()->kill(work, false));
        const auto copied = text_of(copy());
        const auto marked = text_of(folder(work) + "/last-wanted");
        REQUIRE(tests::says(start()->acquire(work), "it was ended on request"));
        const auto later = told_token();
        REQUIRE(later != token);
        bool lives = true;
        SUBCASE("the later machine lives") {}
        SUBCASE("it has ended")
        {
            REQUIRE(start()->kill(work, false));
            lives = false;
        }
        std::ofstream(copy()) << copied;
        std::ofstream(folder(work) + "/last-wanted") << marked;
        (void)collect();
        CHECK(told_token() == later);
        const auto lease = start()->acquire(work);
        CHECK(lease.notices.empty() == lives);
        CHECK(backend->count("create") == (lives ? 2 : 3));
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a session that was purged does not come back by who remembers it")
    {
        std::string lost;
        settings.on_lost = [&](const std::string& session) { lost += session; };
        const auto remembers = start();
        (void)remembers->acquire(work);
        const auto copied = text_of(copy());
        const auto marked = text_of(folder(work) + "/last-wanted");
        REQUIRE(start()->kill(work, true));
        SUBCASE("a server")
        {
            lose_all();
            CHECK(tests::becomes_true([&] { return !start()->list().empty(); })); // written again
        }
        SUBCASE("its host, of a purge that was cut off")
        {
            std::filesystem::create_directories(folder(work));
            std::ofstream(copy()) << copied;
            std::ofstream(folder(work) + "/last-wanted") << marked;
        }
        CHECK(collect().restored.empty());
        CHECK(start()->list().empty());
        CHECK(lost.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "outcomes of a machine that had ended when its home was not moved "
                               "after all outlive the books' data")
    {
        make_one();
        end_with_words();
        backend->before_move = [] { throw Error(ErrorCode::backend_error, "the disk is full"); };
        const session::SessionId kept{"ann", "kept", {}};
        CHECK_THROWS_AS((void)start()->adopt(key_hash(work), {.to = kept,
                                                              .end_machine = false,
                                                              .any_principal = false,
                                                              .deadline = Deadline::after(60s)}),
                        Error);
        backend->words.clear(); // they were taken
        lose_all();
        const auto lease = start()->acquire(work);
        REQUIRE(lease.notices.size() == 2);
        CHECK(lease.notices[0].find("it ended with exit 7") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that is looked for in another state directory, where its "
                               "session has a home too, is not told as lost")
    {
        make_one();
        backend = std::make_shared<tests::FakeBackend>(directory / "others");
        settings.state_directory = directory / "other-state";
        settings.place = session::this_place("", settings.state_directory);
        SUBCASE("nor forgotten")
        {
            std::ofstream(backend->home(key_hash(work))) << "another's";
            const auto all = start()->list_asked();
            REQUIRE(all.size() == 1);
            CHECK(all[0].state == "running");
            CHECK(all[0].silence.find("its state directory is another") != std::string::npos);
        }
        SUBCASE("but where it has none it was this one that was moved")
        {
            CHECK(start()->facts(work).state == "lost");
        }
    }

    TEST_CASE_FIXTURE(Fixture, "one that cannot come back is told with the reason, and not waited "
                               "for; one that is locked is")
    {
        make_one();
        lose_all();
        const auto manager = start();
        const auto list = [&] { return server::cli::list_sessions(*manager); };
        SUBCASE("nobody can tell whether its machine lives")
        {
            backend->unsure = true;
            const auto shown = list();
            CHECK_FALSE(shown.failure);
            CHECK(shown.text == "no sessions");
            CHECK(shown.complaint.find(key_hash(work)) != std::string::npos);
            CHECK(shown.complaint.find("who knows") != std::string::npos);
            CHECK(shown.complaint.find("last-machine") != std::string::npos);
            const auto killed =
                server::cli::kill_session(*manager, {work, "work"}, false, session::AtEnd::save);
            CHECK(killed.failure == ErrorCode::not_found);
            CHECK(killed.complaint.find("who knows") != std::string::npos);
            backend->unsure = false;
        }
        SUBCASE("a server of this host that stands still has it")
        {
            const UniqueFd other(
                ::open((folder(work) + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            REQUIRE(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
            const auto shown = list();
            CHECK(shown.failure == ErrorCode::busy);
            CHECK(shown.complaint.find("another server of this host") != std::string::npos);
            CHECK(shown.complaint.find("restarted") == std::string::npos);
        }
        const auto shown = list();
        CHECK_FALSE(shown.failure);
        CHECK(shown.complaint.empty());
        CHECK(shown.text.find("work") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "a call that is refused does not take the copy along")
    {
        settings.collects = false;
        make_one();
        REQUIRE(start()->kill(work, false));
        lose_all();
        backend->available = false;
        CHECK_THROWS_AS((void)start()->acquire(work), Error);
        backend->available = true;
        CHECK(collect().restored == std::vector<std::string>{"work"});
    }

    TEST_CASE_FIXTURE(Fixture, "a claim in its folder makes a named session no unnamed one")
    {
        make_one();
        end_machine(work);
        std::ofstream(folder(work) + "/server").flush(); // of who cleared up with books in files
        std::ofstream(folder(work) + "/last-wanted") << "later";   // so that no copy counts
        std::filesystem::create_directory(folder(work) + "/home"); // that of a fake is elsewhere
        lose_all();
        for (const std::string name : {"/last-wanted", ""}) {
            std::filesystem::last_write_time(folder(work) + name,
                                             std::filesystem::file_time_type::clock::now() - 2min);
        }
        const auto found = collect();
        CHECK(found.cleared == 0);
        CHECK(found.found == std::vector<std::string>{key_hash(work)});
        CHECK(std::filesystem::exists(backend->home(key_hash(work))));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "an unnamed session that was killed with the books' data leaves nothing")
    {
        const session::SessionId unnamed{"ann", "", {}};
        bool has_copy = true;
        SUBCASE("when it ran") {}
        SUBCASE("before it did, or of a release that kept no copy")
        {
            has_copy = false;
        }
        const pid_t server = backend->fork();
        if (server == 0) {
            const auto manager = start();
            (void)manager->acquire(unnamed);
            ::kill(::getpid(), SIGKILL);
        }
        REQUIRE(::waitpid(server, nullptr, 0) == server);
        const auto all = start()->list();
        REQUIRE(all.size() == 1);
        const auto key = all[0].key;
        const auto left = settings.state_directory + "/sessions/" + key;
        std::filesystem::remove(backend->alive(key));      // as its guest ends with its server
        std::filesystem::create_directory(left + "/home"); // that of a fake is elsewhere
        if (!has_copy) {
            std::filesystem::remove(left + "/last-machine");
        }
        lose_all();
        for (const std::string name : {"/last-wanted", ""}) {
            std::filesystem::last_write_time(left + name,
                                             std::filesystem::file_time_type::clock::now() - 2min);
        }
        const auto found = collect();
        CHECK(found.cleared == 1);
        CHECK(found.found.empty());
        CHECK(start()->list().empty());
        CHECK_FALSE(std::filesystem::exists(backend->home(key)));
        CHECK_FALSE(std::filesystem::exists(left + "/last-wanted"));
    }

    TEST_CASE_FIXTURE(Fixture, "while they settle nobody says that a session is not there")
    {
        make_one();
        (void)redis.say({"FLUSHALL"});
        const auto manager = start();
        const auto rest = manager->settling(); // which begins it
        REQUIRE(rest);
        CHECK(*rest <= 5s);
        CHECK(*rest > 1s);
        const auto facts = manager->facts(work);
        CHECK(facts.state == "absent");
        CHECK_FALSE(facts.trouble.empty());
        auto collected = collect();
        CHECK_FALSE(collected.knows_all);
        CHECK(tests::becomes_true([&] { return !manager->settling(); }));
        collected = collect();
        CHECK(collected.knows_all);
        CHECK(collected.restored.size() == 1);
        CHECK(manager->facts(work).trouble.empty());
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
