#include "sandbox/guest/quota/quota_watch.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using berth::BootClock;
using berth::guest::EventLoop;
using berth::guest::HomeQuota;
using berth::guest::QuotaWatch;
using berth::guest::Workers;
using berth::guest::testing::Machine;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

/// Commands that are told to have written something, in a home that may have 4 MiB.
struct Watched : Machine {
    Watched()
    {
        config.quota = 4 * mebibyte;
        quota = std::make_shared<HomeQuota>(config);
        quota->count(); // as a guest does when it begins
        watch.emplace(
            loop, workers, quota,
            QuotaWatch::Host{
                .writers = [this] { return writers; },
                .stop = [this](const std::string& id, const std::string& why,
                               const std::function<void()>& then) { stop(id, why, then); }});
    }

    void stop(const std::string& id, const std::string& why, const std::function<void()>& then)
    {
        stopped.push_back(id);
        reason = why;
        std::erase_if(writers, [&](const auto& writer) { return writer.id == id; });
        if (on_stop) {
            on_stop();
        }
        (void)loop.call_at(BootClock::now() + 30ms, then);
    }

    void begin(const std::string& id, std::uint64_t written = 0)
    {
        writers.push_back({.id = id, .written = written});
        watch->began();
    }

    void grow(const std::string& file, std::uint64_t size) { put(file, std::string(size, 'x')); }

    void spin(std::chrono::milliseconds time)
    {
        (void)loop.call_at(BootClock::now() + time, [this] { loop.stop(); });
        loop.run();
    }

    bool until(const std::function<bool()>& condition)
    {
        for (int tries = 0; tries < 200 && !condition(); ++tries) {
            spin(25ms);
        }
        return condition();
    }

    EventLoop loop;
    Workers workers;
    std::shared_ptr<HomeQuota> quota;
    std::vector<QuotaWatch::Writer> writers; ///< newest last
    std::vector<std::string> stopped;
    std::string reason;
    std::function<void()> on_stop;
    std::optional<QuotaWatch> watch;
};

} // namespace

TEST_CASE("listings that hang do not keep the home from being counted")
{
    std::atomic<bool> hang = true;
    Watched machine;
    for (int i = 0; i < 2; ++i) {
        machine.workers.run(
            [&hang] {
                while (hang) {
                    std::this_thread::sleep_for(5ms);
                }
            },
            Workers::Kind::listing);
    }
    machine.begin("a");
    machine.grow("large", 10 * mebibyte);
    CHECK(machine.until([&] { return !machine.stopped.empty(); }));
    hang = false;
}

TEST_CASE("a count that ends while the session is paused stops nothing")
{
    std::atomic<bool> hang = true;
    Watched machine;
    for (std::size_t i = 0; i < Workers::Options().most; ++i) {
        machine.workers.run([&hang] {
            while (hang) {
                std::this_thread::sleep_for(5ms);
            }
        });
    }
    machine.begin("a");
    machine.grow("large", 10 * mebibyte);
    machine.spin(200ms); // the count is wanted, and has no thread
    machine.watch->hold();
    hang = false;
    machine.spin(200ms);
    CHECK(machine.stopped.empty());
    machine.watch->go_on();
    CHECK(machine.until([&] { return !machine.stopped.empty(); }));
}

TEST_CASE("who has written most since the home was small enough is stopped, and nobody else")
{
    Watched machine;
    machine.begin("old", 900 * mebibyte);
    machine.spin(150ms);
    machine.begin("writer");
    machine.begin("new");
    machine.grow("large", 6 * mebibyte);
    machine.writers[1].written = 6 * mebibyte;
    REQUIRE(machine.until([&] { return !machine.stopped.empty(); }));
    machine.spin(800ms);
    CHECK(machine.stopped == std::vector<std::string>{"writer"});
    CHECK(machine.reason.find("session.quota") != std::string::npos);
    CHECK(machine.reason.find(std::to_string(4 * mebibyte)) != std::string::npos);
}

TEST_CASE("what is written while one is being stopped, and after the last count, costs nobody else")
{
    Watched machine;
    machine.begin("quiet");
    machine.begin("writer");
    machine.on_stop = [&] { machine.grow("more", 20 * mebibyte); };
    machine.grow("large", 6 * mebibyte);
    REQUIRE(machine.until([&] { return !machine.stopped.empty(); }));
    machine.spin(1000ms);
    CHECK(machine.stopped == std::vector<std::string>{"writer"});
}

TEST_CASE("where the kernel tells nothing the newest is stopped, then the next, until it is over")
{
    Watched machine;
    machine.begin("one");
    machine.begin("two");
    machine.grow("large", 6 * mebibyte);
    REQUIRE(machine.until([&] { return machine.stopped.size() == 1; }));
    machine.spin(300ms);
    machine.grow("larger", 6 * mebibyte);
    REQUIRE(machine.until([&] { return machine.stopped.size() == 2; }));
    CHECK(machine.stopped == std::vector<std::string>{"two", "one"});
}

TEST_CASE("in a home that is too large whoever makes room may work, and who adds is stopped")
{
    Watched machine;
    machine.grow("large", 16 * mebibyte);
    machine.quota->count();
    machine.begin("cleaner");
    machine.spin(400ms);
    machine.grow("large", 8 * mebibyte);
    machine.spin(700ms);
    CHECK(machine.stopped.empty());
    machine.grow("large", 12 * mebibyte);
    CHECK(machine.until([&] { return !machine.stopped.empty(); }));
}

TEST_CASE("a command that begins after another is measured by what that has left")
{
    Watched machine;
    machine.begin("first");
    machine.spin(100ms);
    machine.writers.clear();
    machine.spin(400ms);
    CHECK(machine.quota->is_exact());
    machine.grow("large", 6 * mebibyte); // of the second, before the first look at it
    machine.begin("second");
    CHECK(machine.until([&] { return !machine.stopped.empty(); }));
}

TEST_CASE("while the session is paused nothing is counted")
{
    Watched machine;
    machine.begin("sleeper");
    machine.spin(100ms);
    machine.watch->hold();
    machine.spin(300ms); // a count that was under way
    machine.grow("large", 6 * mebibyte);
    machine.spin(700ms);
    CHECK(machine.stopped.empty());
    machine.watch->go_on();
    CHECK(machine.until([&] { return !machine.stopped.empty(); }));
}

TEST_CASE("a stop that is never reported does not end the watch")
{
    Watched machine;
    machine.watch.emplace(
        machine.loop, machine.workers, machine.quota,
        QuotaWatch::Host{
            .writers = [&] { return machine.writers; },
            .stop = [&](const std::string& id, const std::string& /*why*/,
                        const std::function<void()>& /*then*/) { machine.stopped.push_back(id); }});
    machine.begin("one");
    machine.grow("large", 6 * mebibyte);
    REQUIRE(machine.until([&] { return machine.stopped.size() == 1; }));
    machine.spin(5300ms);
    machine.grow("larger", 6 * mebibyte);
    CHECK(machine.until([&] { return machine.stopped.size() == 2; }));
}
