// A Redis that is killed and started again: with its data, with those of a while ago, with none.

#include "sandbox/session/redis_books.hpp"
#include "sandbox/session/redis_client.hpp"
#include "sandbox/session/redis_registry.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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
    const auto lock = registry.lock(key, Deadline::after(60s));
    registry.put(key, record);
}

std::string owner_of(const RedisServer& server, const std::string& key)
{
    const auto record = open(server)->find(key);
    return record ? record->owner : "";
}

session::Record record_of(const std::string& owner)
{
    auto record = full_record();
    record.owner = owner;
    return record;
}

} // namespace

TEST_SUITE("session/redis_restart")
{
    TEST_CASE("a server goes on with a Redis that was restarted, and finds what it had")
    {
        RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
        const auto registry = open(server);
        put(*registry, work, full_record());
        const auto claim = registry->claim(work);
        server.kill();
        CHECK(error_of([&] { (void)registry->find(work); }) == ErrorCode::sandbox_unavailable);
        server.start();
        CHECK(becomes_true(
            [&] { return error_of([&] { (void)registry->find(work); }) == std::nullopt; }));
        CHECK(registry->find(work)->owner == full_record().owner);
        CHECK(claim->holds());
        put(*registry, work, full_record());
    }

    TEST_CASE(
        "what a server has written or used is written again into a Redis that came back empty")
    {
        RedisServer server;
        const auto writer = open(server);
        const auto user = open(server);
        put(*writer, work, record_of("written"));
        put(*open(server), key_of("used"), record_of("used"));
        put(*open(server), key_of("nobody's"), record_of("nobody's"));
        user->touch(key_of("used"));
        CHECK(user->find(key_of("used")).has_value());
        CHECK(user->find(key_of("nobody's")).has_value()); // to look is not to use
        SUBCASE("by a restart")
        {
            server.kill();
            server.start();
        }
        SUBCASE("under their feet")
        {
            (void)server.say({"FLUSHALL"});
        }
        // Nobody calls them.
        CHECK(becomes_true([&] { return owner_of(server, work) == "written"; }));
        CHECK(becomes_true([&] { return owner_of(server, key_of("used")) == "used"; }));
        CHECK(open(server)->find(work)->token == full_record().token);
        CHECK(open(server)->keys().size() == 2);
        put(*writer, work, record_of("written later"));
        CHECK(owner_of(server, work) == "written later");
    }

    TEST_CASE("who looks after an empty restart has put back what it knows before it sees")
    {
        RedisServer server;
        auto times = settled();
        times.renewal = 60s; // by the call itself
        const auto registry = open(server, times);
        put(*registry, work, full_record());
        server.kill();
        server.start();
        CHECK(registry->find(work).has_value());
    }

    TEST_CASE("of two that write again, the later record stays")
    {
        RedisServer server;
        auto times = settled();
        times.renewal = 60s;
        const auto earlier = open(server, times);
        const auto later = open(server, times);
        put(*earlier, work, record_of("earlier"));
        put(*later, work, record_of("later"));
        for (const bool earlier_first : {true, false}) {
            CAPTURE(earlier_first);
            server.kill();
            server.start();
            (void)(earlier_first ? earlier : later)->keys();
            (void)(earlier_first ? later : earlier)->keys();
            CHECK(owner_of(server, work) == "later");
        }
    }

    TEST_CASE("a Redis that came back with what it had a while ago gets what came after")
    {
        RedisServer server; // writes to the disk when it is told to
        auto times = settled();
        times.renewal = 60s;
        const auto registry = open(server, times);
        put(*registry, work, record_of("old"));
        put(*registry, key_of("purged"), record_of("old"));
        (void)server.say({"SAVE"});
        put(*registry, work, record_of("new"));
        put(*registry, key_of("more"), record_of("new"));
        server.kill();
        server.start();
        CHECK(owner_of(server, work) == "old");
        (void)registry->keys();
        CHECK(owner_of(server, work) == "new");
        CHECK(owner_of(server, key_of("more")) == "new");
    }

    TEST_CASE("what another server has purged does not come back")
    {
        RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
        auto times = settled();
        times.renewal = 60s;
        const auto registry = open(server, times);
        put(*registry, work, full_record());
        {
            const auto other = open(server);
            const auto lock = other->lock(work, Deadline::after(20s));
            other->erase(work);
        }
        SUBCASE("with the data")
        {
            server.kill();
            server.start();
            (void)registry->keys();
        }
        SUBCASE("without them, once it was noticed")
        {
            registry->touch(work);
            CHECK_FALSE(registry->find(work).has_value());
            (void)server.say({"FLUSHALL"});
            (void)registry->keys();
        }
        CHECK_FALSE(open(server)->find(work).has_value());
        CHECK(open(server)->keys().empty());
    }

    TEST_CASE("after a restart no lock is given until servers had time to write again")
    {
        RedisServer server;
        const auto registry = open(server, {});
        put(*registry, work, full_record());
        server.kill();
        server.start();
        const auto other = open(server, {});
        try {
            (void)other->lock(key_of("new"), Deadline::after({}));
            FAIL("a lock");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::busy);
            CHECK(std::string(error.what()).find("restarted a moment ago") != std::string::npos);
        }
        CHECK(other->claim(key_of("new")) != nullptr); // nobody can have had that one
        CHECK(becomes_true([&] { return other->find(work).has_value(); }));
        CHECK(other->claim(work) == nullptr);
        CHECK(other->lock(key_of("new"), Deadline::after(60s))->holds());
        CHECK(other->claim(work) != nullptr);
    }

    TEST_CASE("killed and restarted under load, Redis loses nothing that was acknowledged")
    {
        RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
        auto times = settled();
        times.rest = 5ms;
        constexpr int servers = 3;
        std::atomic<bool> over{false};
        std::atomic<int> strange{0};
        std::vector<std::uint64_t> written(servers, 0);
        std::vector<std::jthread> threads;
        for (int server_number = 0; server_number < servers; ++server_number) {
            threads.emplace_back([&, server_number] {
                const auto registry = open(server, times);
                const auto key = key_of(std::to_string(server_number));
                auto record = full_record();
                record.epoch = 0;
                while (!over) {
                    ++record.epoch;
                    const auto failed = error_of([&] { put(*registry, key, record); });
                    if (!failed) {
                        written[static_cast<std::size_t>(server_number)] = record.epoch;
                    } else if (*failed != ErrorCode::sandbox_unavailable &&
                               *failed != ErrorCode::busy) {
                        ++strange;
                    }
                    const auto found = error_of([&] {
                        const auto there = registry->find(key);
                        strange += !failed && (!there || there->epoch != record.epoch) ? 1 : 0;
                    });
                    strange += found && *found != ErrorCode::sandbox_unavailable ? 1 : 0;
                }
            });
        }
        for (int round = 0; round < 8; ++round) {
            std::this_thread::sleep_for(100ms);
            server.kill();
            server.start();
        }
        std::this_thread::sleep_for(100ms);
        over = true;
        threads.clear();
        CHECK(strange == 0);
        for (int i = 0; i < servers; ++i) {
            CAPTURE(i);
            const auto record = open(server)->find(key_of(std::to_string(i)));
            REQUIRE(record.has_value());
            CHECK(record->epoch >= written[static_cast<std::size_t>(i)]);
            CHECK(written[static_cast<std::size_t>(i)] > 0);
        }
    }

    TEST_CASE("what was written as another thread met a restarted Redis is written again, too")
    {
        RedisServer server;
        session::RedisClient client(server.address(), settled());
        session::RedisBooks books;
        books.look(client);
        server.kill();
        server.start();
        books.look(client); // a thread that has met it
        books.remember(work,
                       {.record = "{}",
                        .token = "secret",
                        .last_used = "1",
                        .keep = "100000",
                        .revision = "1",
                        .used = ""},
                       "the generation before");
        CHECK(server.say({"EXISTS", redis_keys::record(work)}).number == 0);
        books.look(client);
        CHECK(server.say({"EXISTS", redis_keys::record(work)}).number == 1);
    }
}
