// What was told from the books and read: they let go of it, now or later.

#include "sandbox/session/host_folders.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/session/untold.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/manager_fixture.hpp"
#include "tests/unit/suspension.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::says;
using tests::work;

namespace {

constexpr const char* lost = "the sandbox was lost";
constexpr const char* outcome = "an outcome";

struct Fixture : tests::ManagerFixture {
    std::unique_ptr<session::Registry> books =
        session::make_file_registry(settings.state_directory);

    Fixture()
    {
        (void)start()->acquire(work);
        end_machine(work);
    }

    /// As another server that is just looking at the session, or ending it.
    [[nodiscard]] std::unique_ptr<session::Registry::Hold> lock() const
    {
        return books->lock(key_hash(work), Deadline::after(5s));
    }

    /// As after a server that died before it had told it.
    void keep_outcome() const
    {
        const auto others = lock();
        auto record = *books->find(key_hash(work));
        record.untold = {outcome};
        books->put(key_hash(work), record);
    }

    [[nodiscard]] bool is_kept() const { return !books->find(key_hash(work))->news.empty(); }

    /// With one of the next calls.
    [[nodiscard]] bool settles(session::SessionManager& manager) const
    {
        return tests::becomes_true(
            [&] { return manager.acquire(work).notices.empty() && !is_kept(); });
    }
};

} // namespace

TEST_SUITE("session/untold")
{
    TEST_CASE_FIXTURE(Fixture, "what nobody has read stays, for who comes next")
    {
        auto manager = start();
        CHECK(manager->acquire(work).notices.size() == 1);
        CHECK(manager->acquire(work).notices.empty());
        CHECK(is_kept());
        // One tells it at a time.
        const auto other = start();
        CHECK(other->acquire(work).notices.empty());
        CHECK(is_kept());
        manager.reset();
        CHECK(says(start()->acquire(work), lost));
        CHECK(other->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what was read is let go of at once, and not told by who comes after "
                      "a server that was killed then")
    {
        const pid_t server = backend->fork();
        if (server == 0) {
            const auto manager = start();
            const bool told = says(manager->acquire(work), lost);
            (void)tests::becomes_true([&] { return !is_kept(); });
            ::kill(::getpid(), told ? SIGKILL : SIGABRT); // no call came after it, and no end
        }
        int status = 0;
        REQUIRE(::waitpid(server, &status, 0) == server);
        CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "what a server has not told that is killed the next one tells")
    {
        const pid_t server = backend->fork();
        if (server == 0) {
            const auto manager = start();
            (void)manager->acquire(work);
            ::kill(::getpid(), SIGKILL);
        }
        REQUIRE(::waitpid(server, nullptr, 0) == server);
        CHECK(std::filesystem::exists(folder(work) + "/teller"));
        {
            const auto manager = start();
            CHECK(says(manager->acquire(work), lost));
            CHECK(settles(*manager));
        }
        CHECK_FALSE(std::filesystem::exists(folder(work) + "/teller"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what a server leaves of the right to tell goes, with nothing to tell")
    {
        {
            const auto manager = start();
            CHECK(says(manager->acquire(work), lost));
            CHECK(settles(*manager));
        }
        const auto teller = folder(work) + "/teller";
        std::ofstream(teller) << ""; // as of one that was killed before it removed it
        {
            const auto held = session::HostFolders(settings.state_directory)
                                  .claim_telling(key_hash(work)); // as by one that lives
            CHECK(start()->acquire(work).notices.empty());
            CHECK(held->holds());
        }
        std::ofstream(teller) << "";
        CHECK(start()->acquire(work).notices.empty());
        CHECK_FALSE(std::filesystem::exists(teller));
    }

    TEST_CASE_FIXTURE(Fixture, "while another has the session's lock it stays, and goes with a "
                               "later call")
    {
        const auto manager = start();
        const auto lease = manager->acquire(work);
        {
            const auto others = lock();
            CHECK(says(lease, lost));
            CHECK(manager->acquire(work).notices.empty());
            REQUIRE(is_kept());
        }
        CHECK(settles(*manager));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "else with the server's end, which waits for the lock")
    {
        auto manager = start();
        const auto lease = manager->acquire(work);
        auto others = lock();
        CHECK(says(lease, lost));
        CHECK(manager->acquire(work).notices.empty());
        std::thread leaving([&] {
            std::this_thread::sleep_for(100ms);
            others.reset();
        });
        manager.reset();
        leaving.join();
        CHECK_FALSE(is_kept());
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE("what is kept again by who was killed in between is kept once")
    {
        session::Record record;
        for (int i = 0; i < 2; ++i) {
            session::keep_untold(record, {"first", "second"});
        }
        CHECK(record.untold == std::vector<std::string>{"first", "second"});
        session::keep_untold(record, {"second", "third"});
        CHECK(record.untold == std::vector<std::string>{"first", "second", "second", "third"});
    }

    TEST_CASE("what is kept again of one job by who was killed in between, who had asked what "
              "another printed, is kept once")
    {
        protocol::InfoReply info;
        for (const auto* id : {"cmd_1", "cmd_2"}) {
            auto& job = info.ended.emplace_back();
            job.job_id = id;
            job.command = "make";
            job.unseen = true;
            job.exit_code = 0;
        }
        const auto both = session::last_notices(info).told;
        REQUIRE(both.size() == 2);
        session::Record record;
        session::keep_untold(record, both);
        const auto printed = both[1] + "; it printed at last:\n| done";
        session::keep_untold(record, {printed});
        CHECK(record.untold == std::vector<std::string>{both[0], printed});
    }

    TEST_CASE_FIXTURE(Fixture, "what a call finds in the books while another makes the machine is "
                               "told by one of them")
    {
        auto teller = start();
        (void)teller->acquire(work);
        keep_outcome();
        const auto manager = start();
        REQUIRE(manager->acquire(work).notices.empty());
        teller.reset(); // and has not told it
        auto later = settings;
        later.template_name = "another";
        later.asked.insert("template");
        manager->change(later);
        (void)manager->acquire(work); // it goes on with the machine that there is, for some seconds
        end_machine(work);

        const tests::Suspension long_after(60s); // so it is tried again, and others go on meanwhile
        session::Lease beside;
        bool has_begun = false;
        backend->before_end = [&] {
            if (!std::exchange(has_begun, true)) {
                std::thread([&] { beside = manager->acquire(work); }).join();
            }
        };
        auto told = manager->acquire(work);
        REQUIRE(beside.sandbox);
        told.add(beside);
        CHECK(std::ranges::count(told.notices, outcome) == 1);
        tests::read(told);
        CHECK(settles(*manager));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "what a call has that is still at work is not told by the one that "
                               "makes the next machine too, and let go of once both were read")
    {
        keep_outcome();
        const auto manager = start();
        const auto first = manager->acquire(work);
        REQUIRE(std::ranges::count(first.notices, outcome) == 1);
        end_machine(work);
        manager->report_lost(work, first);
        const auto second = manager->acquire(work);
        CHECK(says(second, lost)); // of the machine that `first` had; the other news it has itself
        const auto is_noted = [&] { return !books->find(key_hash(work))->untold.empty(); };
        std::this_thread::sleep_for(50ms);
        CHECK(is_noted());
        tests::read(first);
        CHECK(tests::becomes_true([&] { return !is_noted() && !is_kept(); }));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "what a call has that nobody reads goes with the next one, though "
                               "another has made a machine meanwhile")
    {
        keep_outcome();
        const auto manager = start();
        const auto first = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, first);
        CHECK(says(manager->acquire(work), lost));
        manager->report_unread(work, first);
        const auto third = tests::read(manager->acquire(work));
        CHECK(std::ranges::count(third.notices, outcome) == 1);
        CHECK(settles(*manager));
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a later loss is told, though the earlier one is not settled")
    {
        const auto manager = start();
        const auto first = manager->acquire(work);
        {
            const auto others = lock();
            CHECK(says(first, lost));
            const auto lease = manager->acquire(work);
            end_machine(work);
            manager->report_lost(work, lease);
        }
        CHECK(says(manager->acquire(work), lost));
        CHECK(settles(*manager));
    }
}
