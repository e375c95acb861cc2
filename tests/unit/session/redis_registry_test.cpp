// What is true of the registry in Redis alone: what it does when Redis is away, is back, is back
// without its data, and when a lock has passed to another.

#include "sandbox/session/redis_registry.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::Registry;
using tests::becomes_true;
using tests::error_of;
using tests::full_record;
using tests::key_of;
using tests::RedisServer;
using tests::settled;

namespace {

namespace redis_keys = session::redis_keys;

const std::string work = key_of("work");

std::unique_ptr<Registry> open(const RedisServer& server,
                               const session::RedisTimes& times = settled())
{
    return session::make_redis_registry(server.address(), "a test", times);
}

void put(Registry& registry, const std::string& key, const session::Record& record)
{
    const auto lock = registry.lock(key, Deadline::after(20s));
    registry.put(key, record);
}

bool has(Registry& registry, const std::string& key)
{
    return registry.find(key).has_value();
}

/// The text and hint of what is thrown.
std::optional<std::pair<std::string, bool>> refusal(const std::function<void()>& action)
{
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        return std::pair(std::string(error.what()) + '\n' + error.hint(), error.retryable());
    }
    return std::nullopt;
}

std::vector<std::function<void(Registry&)>> everything()
{
    return {[](Registry& registry) { (void)registry.find(work); },
            [](Registry& registry) { (void)registry.keys(); },
            [](Registry& registry) { (void)registry.claim(work); },
            [](Registry& registry) { (void)registry.lock(work, Deadline::after(20s)); }};
}

} // namespace

TEST_SUITE("session/redis")
{
    TEST_CASE("a Redis that is not there is named, with what goes on and what to do")
    {
        session::RedisAddress nowhere;
        nowhere.socket = "/no/such/redis.sock";
        nowhere.password = "secret";
        const auto registry = session::make_redis_registry(nowhere, "a test");
        for (const auto& action : everything()) {
            const auto said = refusal([&] { action(*registry); });
            REQUIRE(said.has_value());
            CHECK(said->first.find("unix:///no/such/redis.sock") != std::string::npos);
            CHECK(said->first.find("connect: No such file") != std::string::npos);
            CHECK(said->first.find("that this server already has go on") != std::string::npos);
            CHECK(said->first.find("secret") == std::string::npos);
            CHECK(said->second);
        }
        registry->touch(work);
    }

    TEST_CASE("one that does not answer is waited for once, not by each who waits")
    {
        const RedisServer server;
        auto times = settled();
        times.command = 200ms;
        times.rest = 60s;
        const auto registry = open(server, times);
        put(*registry, work, full_record());
        (void)server.say({"CLIENT", "PAUSE", "3000"});
        for (const auto& action : everything()) {
            const auto said = refusal([&] { action(*registry); });
            REQUIRE(said.has_value());
            CHECK(said->first.find("no answer in time") != std::string::npos);
        }
    }

    TEST_CASE("a record of a machine that is bound to no host does not lapse")
    {
        const RedisServer server;
        const auto registry = open(server);
        auto record = full_record();
        constexpr long long day = 24LL * 3600 * 1000;
        const auto days_left = [&] {
            return server.say({"PTTL", redis_keys::record(work)}).number / day;
        };
        put(*registry, work, record);
        CHECK(days_left() < 61); // its home is found again without it
        record.place.reset();
        SUBCASE("as it is written")
        {
            put(*registry, work, record);
        }
        SUBCASE("as its use is noted")
        {
            put(*registry, work, record);
            REQUIRE(server.say({"PEXPIRE", redis_keys::record(work), "1000000"}).number == 1);
            registry->touch(work);
            CHECK(registry->find(work).has_value());
        }
        SUBCASE("as it is written again")
        {
            put(*registry, work, record);
            (void)server.say({"FLUSHALL"});
            (void)registry->keys();
        }
        CHECK(days_left() > 50 * 365);
    }

    TEST_CASE("a record that was never there was not erased")
    {
        const RedisServer server;
        CHECK_FALSE(open(server)->was_erased(work));
    }

    TEST_CASE("what somebody has written there that is no key is no session")
    {
        const RedisServer server;
        const auto registry = open(server);
        put(*registry, work, full_record());
        for (const auto& other :
             {"../../" + std::string(session::key_size - 6, 'a'),
              std::string(session::key_size, 'A'), std::string(session::key_size + 1, 'a')}) {
            (void)server.say({"SADD", redis_keys::index, other});
            (void)server.say({"HSET", redis_keys::record(other), "record", "{}"});
        }
        CHECK(registry->keys() == std::vector{work});
    }

    TEST_CASE("user and password, and what is said without them")
    {
        const RedisServer server({"--requirepass", "the secret"});
        auto address = server.address();
        const auto find = [&] {
            (void)session::make_redis_registry(address, "a test", settled())->find(work);
        };
        auto said = refusal(find);
        REQUIRE(said.has_value());
        CHECK(said->first.find("refuses this server: NOAUTH") != std::string::npos);
        CHECK_FALSE(said->second);
        address.password = "a wrong secret";
        said = refusal(find);
        REQUIRE(said.has_value());
        CHECK(said->first.find("WRONGPASS") != std::string::npos);
        // The form that the command line, which hides passwords, leaves as it is.
        CHECK(said->first.find("redis://[USER[:PASSWORD]@]HOST") != std::string::npos);
        CHECK(said->first.find("secret") == std::string::npos);
        CHECK_FALSE(said->second);
        address.password = "the secret";
        CHECK_FALSE(refusal(find).has_value());
        address.user = "default";
        CHECK_FALSE(refusal(find).has_value());
        address.user = "nobody";
        CHECK(refusal(find).has_value());
    }

    TEST_CASE("a database that there is not is no matter of waiting")
    {
        const RedisServer server;
        auto address = server.address();
        address.database = 99;
        const auto said = refusal(
            [&] { (void)session::make_redis_registry(address, "a test", settled())->find(work); });
        REQUIRE(said.has_value());
        CHECK(said->first.find("has no database 99") != std::string::npos);
        CHECK_FALSE(said->second);
    }

    TEST_CASE("each database has books of its own")
    {
        const RedisServer server;
        put(*open(server), work, full_record());
        auto address = server.address();
        address.database = 5;
        const auto other = session::make_redis_registry(address, "a test", settled());
        CHECK_FALSE(has(*other, work));
        CHECK(other->keys().empty());
    }

    TEST_CASE("what is no Redis is told as none")
    {
        const RedisServer server;
        (void)server.say({"SET", redis_keys::generation, "x"});
        (void)server.say({"DEL", redis_keys::generation});
        (void)server.say({"LPUSH", redis_keys::generation, "x"});
        const auto said = refusal([&] { (void)open(server)->find(work); });
        REQUIRE(said.has_value());
        CHECK(said->first.find("cannot be used now: ") != std::string::npos);
        CHECK(said->first.find("WRONGTYPE") != std::string::npos);
    }

    TEST_CASE("a lock is renewed while it is held, and not longer")
    {
        const RedisServer server;
        auto times = settled();
        times.lock = 2s;
        times.renewal = 100ms;
        const auto first = open(server, times);
        const auto second = open(server, times);
        auto lock = first->lock(work, Deadline::after({}));
        auto claim = first->claim(work);
        std::this_thread::sleep_for(3s);
        CHECK(lock->holds());
        CHECK(error_of([&] { (void)second->lock(work, Deadline::after({})); }) == ErrorCode::busy);
        lock.reset();
        claim.reset();
        CHECK(server.say({"EXISTS", redis_keys::lock(work), redis_keys::claim(work)}).number == 0);
    }

    TEST_CASE("who has lost the lock writes nothing")
    {
        const RedisServer server;
        auto times = settled();
        times.renewal = 50ms;
        const auto slow = open(server, times);
        const auto quick = open(server);
        auto record = full_record();
        record.owner = "quick";
        const auto lost = slow->lock(work, Deadline::after({}));
        (void)server.say({"DEL", redis_keys::lock(work)}); // as when it has expired
        SUBCASE("to one that has it now")
        {
            const auto lock = quick->lock(work, Deadline::after(20s));
            quick->put(work, record);
            CHECK(error_of([&] { slow->put(work, full_record()); }) == ErrorCode::busy);
            CHECK(error_of([&] { slow->erase(work); }) == ErrorCode::busy);
            CHECK(becomes_true([&] { return !lost->holds(); }));
            quick->put(work, record);
            CHECK(lock->holds());
        }
        SUBCASE("to one that has let it go")
        {
            put(*quick, work, record);
            CHECK(error_of([&] { slow->put(work, full_record()); }) == ErrorCode::busy);
            CHECK(error_of([&] { slow->erase(work); }) == ErrorCode::busy);
        }
        CHECK(slow->find(work)->owner == "quick");
    }

    TEST_CASE("a lock that was lost is not taken from who has it by letting it go")
    {
        const RedisServer server;
        const auto slow = open(server);
        const auto quick = open(server);
        auto lost = slow->lock(work, Deadline::after({}));
        (void)server.say({"DEL", redis_keys::lock(work)});
        const auto lock = quick->lock(work, Deadline::after(20s));
        lost.reset();
        quick->put(work, full_record());
        CHECK(error_of([&] { (void)slow->lock(work, Deadline::after({})); }) == ErrorCode::busy);
    }

    TEST_CASE("a hold ends by the clock where Redis cannot be asked")
    {
        RedisServer server;
        auto times = settled();
        times.lock = 300ms;
        times.claim = 300ms;
        const auto registry = open(server, times);
        const auto lock = registry->lock(work, Deadline::after({}));
        const auto claim = registry->claim(work);
        server.kill();
        CHECK(becomes_true([&] { return !lock->holds() && !claim->holds(); }));
    }

    TEST_CASE("a claim that was lost with Redis is taken again, unless another has it")
    {
        RedisServer server;
        auto times = settled();
        times.renewal = 50ms;
        const auto registry = open(server, times);
        const auto claim = registry->claim(work);
        const auto taken = registry->claim(key_of("other"));
        server.kill();
        server.start();
        (void)server.say({"SET", redis_keys::claim(key_of("other")), "another server"});
        CHECK(becomes_true([&] {
            return server.say({"EXISTS", redis_keys::claim(work)}).number == 1 && claim->holds() &&
                   !taken->holds();
        }));
    }

    TEST_CASE("a clock that was set back by a day holds nobody up")
    {
        const RedisServer server;
        auto times = settled();
        times.lock = 300ms;
        times.claim = 300ms;
        times.settling = 300ms;
        for (const auto& name :
             {std::string(redis_keys::settling), redis_keys::lock(work), redis_keys::claim(work)}) {
            const auto registry = open(server, times);
            (void)registry->keys();
            (void)server.say({"SET", name, "1 nonce a server that is gone", "PX", "86400000"});
            CHECK(registry->lock(work, Deadline::after(20s))->holds());
            CHECK(becomes_true([&] { return registry->claim(work) != nullptr; }));
        }
    }

    TEST_CASE("records outlast their last use by the time to live and sixty days")
    {
        const RedisServer server;
        auto record = full_record();
        record.made_with->ttl = 12h;
        const auto name = redis_keys::record(work);
        const auto registry = open(server);
        put(*registry, work, record);
        constexpr std::int64_t whole = (12 + 60 * 24) * 3'600'000LL;
        const auto left = [&] { return server.say({"PTTL", name}).number; };
        CHECK(left() <= whole);
        CHECK(left() > whole - 600'000);
        (void)server.say({"PEXPIRE", name, "100000"});
        registry->touch(work);
        CHECK(becomes_true([&] { return left() > whole - 600'000; }));
        (void)server.say({"PEXPIRE", name, "1"});
        CHECK(becomes_true([&] { return registry->keys().empty(); }));
        CHECK(server.say({"SCARD", redis_keys::index}).number == 0);
    }

    TEST_CASE("who has a lock is told to who waits for it")
    {
        const RedisServer server;
        const auto first =
            session::make_redis_registry(server.address(), "pid 7 on h\x1b[2J", settled());
        const auto lock = first->lock(work, Deadline::after({}));
        try {
            (void)open(server)->lock(work, Deadline::after({}));
            FAIL("two locks");
        } catch (const Error& error) {
            CHECK(std::string(error.what()).find("pid 7 on h\\x1b[2J") != std::string::npos);
        }
    }
}
