#include "sandbox/session/session_manager.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using tests::error_of;

namespace {

using Fixture = tests::ManagerFixture;

session::SessionId of(const char* principal, const std::string& name)
{
    return {principal, name, {}};
}

Error refusal_of(session::SessionManager& manager, const session::SessionId& id)
{
    try {
        (void)manager.acquire(id);
    } catch (const Error& error) {
        return error;
    }
    return {ErrorCode::internal, "it was not refused"};
}

} // namespace

TEST_SUITE("session/admission")
{
    TEST_CASE_FIXTURE(Fixture, "one machine more than there may be is refused, and leaves nothing")
    {
        settings.max_sessions = 2;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        (void)manager->acquire(of("bob", "b"));
        const auto error = refusal_of(*manager, of("ann", "c"));
        CHECK(error.code() == ErrorCode::busy);
        CHECK(error.retryable());
        CHECK(std::string(error.what()) ==
              "session.max = 2: so many sessions have a machine already");
        CHECK(error.hint().starts_with("Try again after 20"));
        CHECK_FALSE(std::filesystem::exists(folder(of("ann", "c"))));
        CHECK(backend->count("create") == 2);
        (void)manager->acquire(of("ann", "a")); // one that has a machine is no more
        (void)start()->acquire(of("bob", "b"));
    }

    TEST_CASE_FIXTURE(Fixture, "what has ended or died makes room")
    {
        settings.max_sessions = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        SUBCASE("ended")
        {
            REQUIRE(manager->kill(of("ann", "a"), false));
        }
        SUBCASE("died")
        {
            end_machine(of("ann", "a"));
        }
        (void)manager->acquire(of("ann", "b"));
        CHECK(error_of([&] { (void)start()->acquire(of("ann", "a")); }) == ErrorCode::busy);
    }

    TEST_CASE_FIXTURE(Fixture, "a refused session that has a home keeps it, and its state")
    {
        settings.max_sessions = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        REQUIRE(manager->kill(of("ann", "a"), false));
        (void)manager->acquire(of("ann", "b"));
        CHECK_THROWS_AS((void)manager->acquire(of("ann", "a")), Error);
        CHECK(manager->facts(of("ann", "a")).state == "ended");
        CHECK(std::filesystem::exists(backend->home(session::key_hash(of("ann", "a")))));
    }

    TEST_CASE_FIXTURE(Fixture, "one principal's machines are counted apart")
    {
        settings.max_sessions_per_principal = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        (void)manager->acquire(of("bob", "a"));
        CHECK(std::string(refusal_of(*manager, of("ann", "b")).what()) ==
              "session.max_per_principal = 1: ann has so many sessions with a machine already");
    }

    TEST_CASE_FIXTURE(Fixture, "of many that race no more get one than there may be, and no fewer")
    {
        constexpr int racers = 12;
        settings.max_sessions = 5;
        std::atomic<int> served = 0;
        std::atomic<int> refused = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i < racers; ++i) {
            threads.emplace_back([&, i] {
                try {
                    (void)start()->acquire(of("ann", "s" + std::to_string(i)));
                    ++served;
                } catch (const Error& error) {
                    refused += error.code() == ErrorCode::busy ? 1 : 0;
                }
            });
        }
        threads.clear();
        CHECK(served == 5);
        CHECK(refused == racers - 5);
        CHECK(backend->count("create") == 5);
        const auto sessions =
            std::filesystem::directory_iterator(settings.state_directory + "/sessions");
        CHECK(std::distance(begin(sessions), end(sessions)) == 5); // no turn is left there
    }
}
