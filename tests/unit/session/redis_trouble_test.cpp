// A Redis that answers and cannot be written to.

#include "sandbox/session/redis_registry.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>

using namespace berth;
using namespace std::chrono_literals;
using session::Registry;
using tests::becomes_true;
using tests::full_record;
using tests::key_of;

namespace {

namespace redis_keys = session::redis_keys;

const std::string busy_key = key_of("busy");

struct Fixture {
    tests::RedisServer redis;
    std::unique_ptr<Registry> registry = open();

    [[nodiscard]] std::unique_ptr<Registry> open() const
    {
        auto times = tests::settled();
        times.lock = 2s;
        times.claim = 2s;
        times.renewal = 200ms;
        return session::make_redis_registry(redis.address(), "a test", times);
    }

    void put(const std::string& key)
    {
        const auto lock = registry->lock(key, Deadline::after(20s));
        registry->put(key, full_record());
    }

    /// The numbers of those on which scripts are run.
    [[nodiscard]] std::set<std::string> connections() const
    {
        std::istringstream lines(redis.say({"CLIENT", "LIST"}).text);
        std::set<std::string> numbers;
        for (std::string line; std::getline(lines, line);) {
            if (line.find(" cmd=eval ") != std::string::npos) {
                numbers.insert(line.substr(0, line.find(' ')));
            }
        }
        return numbers;
    }

    void fill() const { (void)redis.say({"CONFIG", "SET", "maxmemory", "1"}); }

    void empty() const { (void)redis.say({"CONFIG", "SET", "maxmemory", "0"}); }
};

/// What is thrown, with its hint.
std::string refusal(const std::function<void()>& action)
{
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        CHECK(error.retryable());
        return std::string(error.what()) + '\n' + error.hint();
    }
    return "nothing was thrown";
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("session/redis_trouble")
{
    TEST_CASE_FIXTURE(Fixture, "what is held stays held while Redis has no memory")
    {
        const auto lock = registry->lock(busy_key, Deadline::after(20s));
        const auto claim = registry->claim(busy_key);
        REQUIRE(claim);
        fill();
        std::this_thread::sleep_for(3s); // longer than both are given for
        CHECK(lock->holds());
        CHECK(claim->holds());
        CHECK(
            redis.say({"EXISTS", redis_keys::lock(busy_key), redis_keys::claim(busy_key)}).number ==
            2);
    }

    TEST_CASE_FIXTURE(Fixture, "sessions are found and kept, and new ones refused with the reason")
    {
        put(busy_key);
        fill();
        (void)redis.say({"PEXPIRE", redis_keys::record(busy_key), "60000"});
        const auto other = open();
        CHECK(other->find(busy_key).has_value());
        other->touch(busy_key);
        CHECK(becomes_true(
            [&] { return redis.say({"PTTL", redis_keys::record(busy_key)}).number > 60000; }));
        CHECK(other->find(busy_key).has_value());
        const auto said = refusal([&] { (void)other->lock(key_of("new"), Deadline::after(20s)); });
        CHECK(has(said, "cannot be used now: OOM"));
        CHECK(has(said, "raise its `maxmemory`"));
        CHECK(has(said, "that this server already has go on"));
        empty();
        CHECK(other->lock(key_of("new"), Deadline::after(20s)));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a replica is called that, and left for whoever has its address next")
    {
        put(busy_key);
        (void)redis.say({"REPLICAOF", "127.0.0.1", "1"});
        CHECK(registry->find(busy_key).has_value());
        const auto before = connections();
        REQUIRE_FALSE(before.empty());
        const auto said = refusal([&] { put(busy_key); });
        CHECK(has(said, "READONLY"));
        CHECK(has(said, "give that of the primary"));
        (void)refusal([&] { put(busy_key); });
        const auto after = connections();
        CHECK_FALSE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
        (void)redis.say({"REPLICAOF", "NO", "ONE"});
        put(busy_key);
        CHECK(registry->find(busy_key).has_value());
    }
}
