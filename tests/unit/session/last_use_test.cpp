#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

using namespace berth;
using namespace std::chrono_literals;
using tests::work;

namespace {

using Fixture = tests::ManagerFixture;

} // namespace

TEST_SUITE("session/last_use")
{
    TEST_CASE_FIXTURE(Fixture, "whatever ends a machine, its last use stays what it was")
    {
        for (const bool killed : {true, false}) {
            CAPTURE(killed);
            (void)start()->acquire(work);
            set_age(work, 13h);
            const auto used = start()->facts(work).last_used;
            const auto manager = start();
            if (killed) {
                CHECK(manager->kill(work, false));
            } else {
                end_machine(work); // as the guest does, after 12 h
                CHECK(manager->facts(work).last_used == used);
                CHECK(manager->collect_leftovers(Deadline::after(5s)).cleared == 1);
            }
            CHECK(manager->facts(work).state == "ended");
            CHECK(manager->facts(work).last_used == used);
            (void)manager->acquire(work);
            CHECK(manager->facts(work).last_used > used);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a use that another server notes before a record is written stays")
    {
        (void)start()->acquire(work);
        set_age(work, 1h);
        const auto registry = session::make_file_registry(settings.state_directory);
        const auto key = session::key_hash(work);
        auto read = registry->find(key);
        REQUIRE(read.has_value());
        registry->touch(key);
        registry->put(key, *read);
        const auto after = registry->find(key);
        REQUIRE(after.has_value());
        CHECK(after->last_used > read->last_used + 59min);
    }

    TEST_CASE_FIXTURE(Fixture, "a call on a session in use reads and writes no file")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        const auto calls = [] { // proc(5): those of all threads so far, with this look itself
            std::ifstream lines("/proc/self/io");
            long sum = 0;
            std::string name;
            for (long count = 0; lines >> name >> count;) {
                sum += name == "syscr:" || name == "syscw:" ? count : 0;
            }
            return sum;
        };
        const auto before = calls();
        for (int i = 0; i < 10'000; ++i) {
            (void)manager->acquire(work);
        }
        CHECK(calls() - before < 1'000); // what other threads do meanwhile
    }

    TEST_CASE_FIXTURE(Fixture, "a long call is use until its end")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        auto lease = manager->acquire(work);
        set_age(work, 1h);
        const auto before = manager->facts(work).last_used;
        std::this_thread::sleep_for(1100ms);
        lease = {};
        CHECK(manager->facts(work).last_used > before);
    }

    TEST_CASE_FIXTURE(Fixture, "a call that lost its machine is no use of it, and may outlive its "
                               "server")
    {
        auto manager = start();
        auto lost = manager->acquire(work);
        auto left = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, lost);
        set_age(work, 1h);
        const auto before = manager->facts(work).last_used;
        std::this_thread::sleep_for(1100ms);
        lost = {};
        CHECK(manager->facts(work).last_used == before);
        manager.reset();
        left = {};
        CHECK(start()->facts(work).last_used == before);
    }

    TEST_CASE_FIXTURE(Fixture, "the end of a call that outlives its server is noted, too")
    {
        auto manager = start();
        auto left = manager->acquire(work);
        set_age(work, 1h);
        const auto before = manager->facts(work).last_used;
        std::this_thread::sleep_for(1100ms);
        manager.reset();
        left = {};
        CHECK(start()->facts(work).last_used > before);
    }
}
