#include "tests/unit/session/manager_fixture.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

using namespace berth;          // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::session; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using tests::work;

namespace {

using Fixture = tests::ManagerFixture;

} // namespace

// The guests of fakes answer nothing: what a living machine takes on is in tests/parity.
TEST_SUITE("session/settings_change")
{
    TEST_CASE("what a running server takes of later settings, and what it does not")
    {
        Settings running;
        running.state_directory = "/here";
        running.save_on_end.workspace = "/workspace";
        running.asked = {"network", "session.ttl"};
        bool told = false;
        running.on_removed = [&](const std::string& /*session*/) { told = true; };
        running.lock_wait = 7ms;
        Settings later;
        later.state_directory = "/there";
        later.save_on_end = {.patterns = {"out"}, .workspace = "/elsewhere"};
        later.asked = {"local.pids"};
        later.limits.pids = 9;
        later.mounts_read_only = true;
        later.setup.commands = {"true"};
        later.max_sessions = 3;
        later.max_sessions_per_principal = 2;
        const auto taken = with_later(running, later);
        CHECK(taken.state_directory == "/here");
        CHECK(taken.save_on_end.workspace == "/workspace");
        CHECK(taken.save_on_end.patterns == std::vector<std::string>{"out"});
        CHECK(taken.lock_wait == 7ms);
        taken.on_removed("x");
        CHECK(told);
        CHECK(taken.limits.pids == 9);
        CHECK(taken.mounts_read_only);
        CHECK(taken.setup.commands.size() == 1);
        CHECK(taken.max_sessions == 3);
        CHECK(taken.max_sessions_per_principal == 2);
        // Back to the default is a change as well, which living machines are to have.
        CHECK(taken.asked ==
              std::set<std::string, std::less<>>{"local.pids", "network", "session.ttl"});
    }

    TEST_CASE("what is the same is seen")
    {
        Settings running;
        running.asked = {"local.pids", "session.ttl"};
        running.save_on_end.workspace = "/workspace";
        auto later = running;
        later.state_directory = "/there"; // which is not taken
        later.save_on_end.workspace = "/elsewhere";
        later.asked = {"local.pids"};
        CHECK(is_same(running, later));
        const std::vector<void (*)(Settings&)> changes{
            [](Settings& settings) { ++settings.limits.pids; },
            [](Settings& settings) { settings.asked.insert("network"); },
            [](Settings& settings) { settings.mounts_read_only = true; },
            [](Settings& settings) { settings.setup.commands = {"true"}; },
            [](Settings& settings) { ++settings.setup.timeout; },
            [](Settings& settings) { ++settings.max_sessions; },
            [](Settings& settings) { ++settings.max_sessions_per_principal; },
            [](Settings& settings) { ++settings.home_retention; },
            [](Settings& settings) { settings.own_retention = true; },
            [](Settings& settings) { settings.told_retention = 1h; },
            [](Settings& settings) { settings.save_on_end.patterns = {"out"}; }};
        for (const auto change : changes) {
            auto other = later;
            change(other);
            CHECK_FALSE(is_same(running, other));
        }
    }

    TEST_CASE("a retention that is not told any more is the default again, for all that had it")
    {
        Settings running;
        Settings later;
        CHECK_FALSE(with_later(running, later).told_retention.has_value());
        later.told_retention = 72h;
        running = with_later(running, later);
        CHECK(running.told_retention == 72h);
        CHECK(with_later(running, {}).told_retention == 7 * 24h);
    }

    TEST_CASE_FIXTURE(Fixture, "machines that are made from then on are as asked for")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        auto later = settings;
        later.limits.pids = 9;
        later.asked.insert("local.pids");
        later.max_sessions = 1;
        manager->change(later);
        CHECK_THROWS_AS((void)manager->acquire({"ann", "second", {}}), Error); // session.max
        CHECK(manager->kill(work, false));
        (void)manager->acquire(work);
        CHECK(backend->last_spec.limits.pids == 9);
        CHECK(manager->facts(work).limits.pids == 9);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what is taken away is refused with each call, as long as it is there")
    {
        settings.network = sandbox::Network::host;
        settings.asked = {"network"};
        const auto manager = start();
        (void)manager->acquire(work);
        auto later = settings;
        later.network = sandbox::Network::none;
        manager->change(later);
        for (int tries = 0; tries < 3; ++tries) {
            try {
                (void)manager->acquire(work);
                FAIL("it was given out");
            } catch (const Error& error) {
                CHECK(std::string(error.what()).find("--network host") != std::string::npos);
            }
        }
        manager->change(settings); // and given back
        (void)manager->acquire(work);
    }

    TEST_CASE_FIXTURE(Fixture, "calls that come while settings change each have the one machine")
    {
        const auto manager = start();
        const auto first = manager->acquire(work);
        std::atomic<bool> done{false};
        std::atomic<int> failed{0};
        std::atomic<int> calls{0};
        {
            std::vector<std::jthread> callers;
            for (int i = 0; i < 4; ++i) {
                callers.emplace_back([&] {
                    while (!done) {
                        try {
                            const auto lease = manager->acquire(work);
                            failed += lease.sandbox->machine().record().generation !=
                                              first.sandbox->machine().record().generation
                                          ? 1
                                          : 0;
                        } catch (const std::exception&) {
                            ++failed;
                        }
                        ++calls;
                    }
                });
            }
            for (std::uint32_t round = 1; round <= 50; ++round) {
                auto later = settings;
                later.limits.pids += round;
                later.asked.insert("local.pids");
                manager->change(later);
                std::this_thread::sleep_for(1ms);
            }
            done = true;
        }
        CHECK(failed == 0);
        CHECK(calls > 0);
    }
}
