#include "sandbox/base/error.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/wait_for.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>

using namespace berth;
using namespace std::chrono_literals;
using Fixture = tests::ManagerFixture;

TEST_CASE_FIXTURE(Fixture, "a server that ends lets go of all its machines at once")
{
    constexpr int machines = 3;
    auto manager = start();
    for (int i = 0; i < machines; ++i) {
        (void)manager->acquire({"ann", "", {std::to_string(i)}});
    }
    std::atomic<int> ending = 0;
    std::atomic<bool> together = true;
    backend->before_end = [&] {
        ++ending;
        together = tests::becomes_true([&] { return ending == machines; }) && together;
    };
    manager.reset();
    CHECK(together);
    CHECK(backend->count("purge") == machines);
}

TEST_CASE_FIXTURE(Fixture, "a server that ends does not wait for the hosts of its machines")
{
    std::latch asked(1);
    backend->during_collection = [&] {
        asked.count_down();
        sandbox::wait_for(1min, WaitBound::within({}, {}).stop);
    };
    const session::SessionId unnamed{"ann", "", {}};
    auto manager = start();
    manager->start_collecting();
    asked.wait();
    (void)manager->acquire(unnamed);
    int patience = -1;
    backend->before_end = [&] {
        patience = WaitBound::within({}, {}).deadline.poll_timeout();
        throw Error(ErrorCode::sandbox_unavailable, "no answer in time");
    };
    const auto begin = std::chrono::steady_clock::now();
    manager.reset();
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
    CHECK(patience >= 0);
    CHECK(patience <= 10'000);
    // What could not be ended whoever clears up next ends.
    backend->during_collection = {};
    backend->before_end = {};
    CHECK(start()->collect_leftovers(Deadline::after(20s)).cleared == 1);
    CHECK(start()->list().empty());
}
