#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/session/machine_end.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::Event;
using session::State;
using tests::says;
using tests::work;

// Whether a machine that is gone has ended, or was lost: by a clock that nobody sets.

namespace {

struct Fixture : tests::ManagerFixture {
    Fixture()
    {
        settings.on_lost = [this](const std::string&) { ++told; };
        (void)start()->acquire(work);
    }

    /// As the file system has it: the record was written when the clock showed that.
    void set_date_of_use(std::chrono::seconds ago) const
    {
        const auto time = std::filesystem::file_time_type::clock::now() - ago;
        std::filesystem::last_write_time(folder(work) + "/record.json", time);
    }

    int told = 0; ///< as an error, to the operator
};

/// A program that is killed while it does that, as it ends the session's machine, or removes what
/// is left of it, and has done so much of it.
void die_in(const tests::ManagerFixture& fixture, const std::function<void()>& action,
            const std::function<void()>& done)
{
    const pid_t command = ::fork();
    if (command == 0) {
        fixture.backend->before_end = [&] {
            done();
            ::_exit(0);
        };
        action();
        ::_exit(1);
    }
    int status = -1;
    REQUIRE(::waitpid(command, &status, 0) == command);
    REQUIRE(status == 0);
}

void end_and_die(const tests::ManagerFixture& fixture, const std::function<void()>& done)
{
    die_in(fixture, [&] { (void)fixture.start()->kill(work, false); }, done);
}

} // namespace

TEST_SUITE("session/machine_end")
{
    TEST_CASE_FIXTURE(Fixture, "a machine that is lost when the date was set is told as lost")
    {
        for (const auto ago : {24h, -24h, 24h * 400}) {
            CAPTURE(ago.count());
            set_date_of_use(ago);
            end_machine(work);
            CHECK(start()->facts(work).state == "lost");
            CHECK(says(start()->acquire(work), "the sandbox was lost; a fresh one"));
        }
        CHECK(told == 3);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "one that nobody used for its time to live has ended, whatever the date")
    {
        set_age(work, settings.ttl);
        set_date_of_use(1min);
        end_machine(work);
        CHECK(start()->facts(work).state == "ended");
        CHECK(says(start()->acquire(work), "it was not used for its time to live"));
        CHECK(told == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "by its guest's own note, whatever the books would make of it")
    {
        set_age(work, settings.ttl);
        end_machine(work);
        backend->noted = protocol::Parting::none; // a client was there, or a job ran, and it died
        CHECK(start()->facts(work).state == "lost");
        backend->noted = protocol::Parting::unused;
        CHECK(start()->facts(work).why.starts_with("it was not used for its time to live"));
        backend->noted = protocol::Parting::left;
        CHECK(start()->facts(work).why.starts_with("its last client left"));
        backend->noted = protocol::Parting::retired;
        CHECK(start()->facts(work).why.starts_with("it was made with other settings"));
        backend->noted = protocol::Parting::asked; // by who has not got the lock yet
        CHECK(start()->facts(work).state == "ended");
        CHECK(start()->facts(work).why.starts_with(next(State::running, Event::end)->why));
        backend->noted = protocol::Parting::none;
        CHECK(says(start()->acquire(work), "the sandbox was lost"));
        CHECK(told == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "what its guest wrote of commands as it ended itself is told")
    {
        protocol::InfoReply info;
        info.jobs.emplace_back();
        info.jobs.back().job_id = "job-2-aaaa";
        info.jobs.back().command = "sleep 300";
        info.jobs.back().status = "running";
        info.ended.emplace_back();
        info.ended.back().job_id = "job-1-aaaa";
        info.ended.back().command = "make";
        info.ended.back().status = "ended";
        info.ended.back().exit_code = 3;
        info.jobs.back().unseen = info.ended.back().unseen = true;
        backend->noted = protocol::Parting::left;
        backend->words = protocol::encode(info);
        end_machine(work);
        bool killed = false;
        SUBCASE("by the call that comes next") {}
        SUBCASE("also where it was collected before")
        {
            CHECK(start()->collect_leftovers(Deadline::after(5s)).cleared == 1);
            backend->words.clear(); // they go with the note
        }
        SUBCASE("also where it was ended before anybody had noticed")
        {
            killed = true;
            CHECK(start()->kill(work, false));
            backend->words.clear();
        }
        const auto notices = start()->acquire(work).notices;
        REQUIRE(notices.size() == 3);
        const std::string unseen =
            ") reached nobody, since its server or its client went away or gave it up: ";
        const std::string gone = "; what it printed is gone with the sandbox";
        CHECK(notices[0] ==
              "the result of job-1-aaaa (`make`" + unseen + "it ended with exit 3" + gone);
        CHECK(notices[1] == "the result of job-2-aaaa (`sleep 300`" + unseen +
                                "it ran, and was ended with the sandbox" + gone);
        CHECK(notices[2].find(killed ? "it was ended on request" : "its last client left") !=
              std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "words of a guest that are none tell nothing")
    {
        backend->noted = protocol::Parting::left;
        backend->words = std::string(1000, '\xff');
        end_machine(work);
        const auto lease = start()->acquire(work);
        CHECK(says(lease, "its last client left"));
        CHECK(lease.notices.size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "who is killed as it clears up has written why the machine is gone")
    {
        const auto collect = [&] {
            return start()->collect_leftovers(Deadline::after(5s)).cleared;
        };
        bool by_call = false;
        bool rest_first = false;
        SUBCASE("for a call")
        {
            by_call = true;
        }
        SUBCASE("for a call, and the rest is removed before the next")
        {
            by_call = rest_first = true;
        }
        SUBCASE("for those that come later") {}
        end_machine(work);
        backend->noted = protocol::Parting::unused;
        die_in(*this, [&] { by_call ? (void)start()->acquire(work) : (void)collect(); }, [] {});
        backend->noted = std::nullopt; // which has removed the guest's note
        if (rest_first) {
            CHECK(collect() == 1);
            CHECK(collect() == 0);
        }
        CHECK(says(start()->acquire(work), "it was not used for its time to live"));
        CHECK(told == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "after a restart of the host it is lost, once, whatever the date")
    {
        for (const auto ago : {0h, 1h, 24h, -24h, 24h * 400}) {
            CAPTURE(ago.count());
            auto before = HostTime::now();
            before.boot = "another";
            before.wall -= ago;
            note_use(work, before);
            set_date_of_use(ago);
            end_machine(work);
            CHECK(start()->facts(work).state == "lost");
            CHECK(says(start()->acquire(work), "the sandbox was lost (the host was restarted); a "
                                               "fresh one is in use; files in the home are kept"));
            CHECK(start()->acquire(work).notices.empty());
        }
        CHECK(told == 0); // a restart is no error of a session
    }

    TEST_CASE_FIXTURE(Fixture, "of one that is on no host a restart of this one is no reason")
    {
        backend->bound = false;
        for (const auto ago : {0h, 24h}) {
            CAPTURE(ago.count());
            auto before = HostTime::now();
            before.boot = "another";
            note_use(work, before);
            set_date_of_use(ago);
            end_machine(work);
            const auto facts = start()->facts(work);
            CHECK(facts.state == (ago == 0h ? "lost" : "ended"));
            CHECK(facts.why.find("restarted") == std::string::npos);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "books of a release that noted no such time are read by the date")
    {
        for (const char* text : {"", "damaged"}) {
            CAPTURE(text);
            const auto noted = folder(work) + "/used";
            std::filesystem::remove(noted);
            if (*text != '\0') {
                write_file_atomically(AT_FDCWD, noted, text, 0600, false);
            }
            set_date_of_use(13h);
            end_machine(work);
            CHECK(start()->facts(work).state == "ended");
            (void)start()->acquire(work);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "what a killed `kill` was ending has ended, and was not lost")
    {
        const std::string on_request = "the sandbox had ended (it was ended on request)";
        const std::string alive = backend->alive(session::key_hash(work));
        bool gone = false;
        SUBCASE("before anything of it was gone") {}
        SUBCASE("when its machine was gone")
        {
            gone = true;
        }
        bool cleared = false;
        SUBCASE("for the call that comes next") {}
        SUBCASE("for who clears up")
        {
            cleared = true;
        }
        end_and_die(*this, [&] {
            if (gone) {
                end_machine(work);
            }
        });
        REQUIRE(std::filesystem::exists(alive) == !gone);
        if (cleared) {
            CHECK(start()->collect_leftovers(Deadline::after(5s)).cleared == 1);
            CHECK_FALSE(std::filesystem::exists(alive));
            CHECK(start()->list().at(0).state == "ended");
        }
        CHECK(says(start()->acquire(work), on_request));
        CHECK(backend->count("TWICE") == 0);
        CHECK(told == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a call is told who has ended its machine under it")
    {
        const auto manager = start();
        const auto lease = manager->acquire(work);
        CHECK(manager->why_ended(work, lease).empty());
        std::string meanwhile;
        backend->before_end = [&] { meanwhile = manager->why_ended(work, lease); };
        bool purge = false;
        SUBCASE("and kept its home") {}
        SUBCASE("with its files")
        {
            purge = true;
        }
        REQUIRE(start()->kill(work, purge));
        CHECK(meanwhile == (purge ? "it was deleted with its files" : "it was ended on request"));
        CHECK(manager->why_ended(work, lease) ==
              (purge ? session::deleted_or_given : "it was ended on request"));
        backend->before_end = nullptr;
        (void)start()->acquire(work); // and another server is quicker
        CHECK(manager->why_ended(work, lease) ==
              (purge ? "it was deleted with its files" : "it was ended on request"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "of a purge that came to nothing the list says so, until a call comes")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        backend->before_end = [] { throw Error(ErrorCode::backend_error, "a hung disk"); };
        CHECK_THROWS_AS((void)manager->kill(work, true), Error);
        end_machine(work);
        backend->before_end = nullptr;
        const auto shown = start()->list();
        REQUIRE(shown.size() == 1);
        CHECK(shown.at(0).why.find("the deletion of its files was begun") != std::string::npos);
        (void)start()->acquire(work);
        CHECK(start()->list().at(0).why.find("deleted") == std::string::npos);
        REQUIRE(start()->kill(work, false));
        CHECK(start()->list().at(0).why.find("its home is kept") != std::string::npos);
    }
}
