// What sandbox/session/registry.hpp says, of every kind of registry.

#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::DamagedRecord;
using session::Record;
using session::Registry;
using tests::error_of;
using tests::FileBooks;
using tests::full_record;
using tests::key_of;
using tests::RedisBooks;

namespace {

void put(Registry& registry, const std::string& key, const Record& record)
{
    const auto lock = registry.lock(key, Deadline::after(20s));
    registry.put(key, record);
}

} // namespace

TEST_SUITE("session/registry")
{
    TEST_CASE_TEMPLATE("what one server has put the next one finds, whole", Books, FileBooks,
                       RedisBooks)
    {
        const Books books;
        const auto key = key_of("work");
        auto record = full_record();
        record.machine.data["key_hash"] = key; // of no other session's machine, whatever is written
        put(*books.open(), key, record);
        const auto found = books.open()->find(key);
        REQUIRE(found.has_value());
        CHECK(found->made_with == record.made_with);
        CHECK(found->machine == record.machine);
        CHECK(found->saving == record.saving);
        CHECK(*found == record);
    }

    TEST_CASE_TEMPLATE("a record that adopts what is no session is damaged", Books, FileBooks,
                       RedisBooks)
    {
        const Books books;
        auto record = full_record();
        record.adopting = key_of("other");
        put(*books.open(), key_of("work"), record);
        CHECK(books.open()->find(key_of("work"))->adopting == record.adopting);
        for (const auto& from : {std::string("other"), "../../" + std::string(58, 'a')}) {
            record.adopting = from;
            put(*books.open(), key_of("work"), record);
            CHECK_THROWS_AS((void)books.open()->find(key_of("work")), DamagedRecord);
        }
    }

    TEST_CASE_TEMPLATE("of a session that never was there is nothing", Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        CHECK_FALSE(registry->find(key_of("work")).has_value());
        CHECK(registry->keys().empty());
        CHECK(registry->abandoned().empty());
        registry->touch(key_of("work"));
        CHECK_FALSE(registry->find(key_of("work")).has_value());
        CHECK(registry->keys().empty());
    }

    TEST_CASE_TEMPLATE("a lock is one server's, and of one key", Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto first = books.open();
        const auto second = books.open();
        auto lock = first->lock(key_of("work"), Deadline::after({}));
        CHECK(lock->holds());
        for (const auto* registry : {&first, &second}) {
            CHECK(error_of([&] {
                      (void)(*registry)->lock(key_of("work"), Deadline::after(20ms));
                  }) == ErrorCode::busy);
        }
        CHECK(second->lock(key_of("other"), Deadline::after({}))->holds());
        CHECK(lock->holds());
        lock.reset();
        CHECK(second->lock(key_of("work"), Deadline::after({}))->holds());
    }

    TEST_CASE_TEMPLATE("who waits for a lock gets it when it is let go", Books, FileBooks,
                       RedisBooks)
    {
        const Books books;
        const auto first = books.open();
        auto lock = first->lock(key_of("work"), Deadline::after({}));
        std::atomic<bool> released{false};
        bool waited = false;
        std::jthread waiter([&] {
            const auto second = books.open();
            const auto got = second->lock(key_of("work"), Deadline::after(20s));
            waited = released && got->holds();
        });
        std::this_thread::sleep_for(50ms);
        released = true;
        lock.reset();
        waiter.join();
        CHECK(waited);
    }

    TEST_CASE_TEMPLATE("a claim is one server's, and no lock", Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto first = books.open();
        const auto second = books.open();
        auto claim = first->claim(key_of("work"));
        REQUIRE(claim != nullptr);
        CHECK(claim->holds());
        CHECK(second->claim(key_of("work")) == nullptr);
        CHECK(first->claim(key_of("work")) == nullptr);
        CHECK(second->claim(key_of("other")) != nullptr);
        CHECK(second->lock(key_of("work"), Deadline::after({}))->holds());
        claim.reset();
        CHECK(second->claim(key_of("work")) != nullptr);
    }

    TEST_CASE_TEMPLATE("what is erased is gone, as often as it is erased", Books, FileBooks,
                       RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        put(*registry, key_of("work"), full_record());
        put(*registry, key_of("other"), full_record());
        for (int i = 0; i < 2; ++i) {
            const auto lock = registry->lock(key_of("work"), Deadline::after(20s));
            registry->erase(key_of("work"));
        }
        CHECK_FALSE(books.open()->find(key_of("work")).has_value());
        CHECK(books.open()->was_erased(key_of("work")));
        CHECK(books.open()->keys() == std::vector{key_of("other")});
        put(*books.open(), key_of("work"), full_record());
        CHECK(registry->find(key_of("work")).has_value());
    }

    TEST_CASE("files that were moved away do not say that a record was erased")
    {
        const FileBooks books;
        const auto registry = books.open();
        put(*registry, key_of("work"), full_record());
        std::filesystem::rename(books.directory / "state", books.directory / "moved");
        CHECK_FALSE(registry->find(key_of("work")).has_value());
        CHECK_FALSE(registry->was_erased(key_of("work")));
    }

    TEST_CASE_TEMPLATE("every session that has a record is listed, in order", Books, FileBooks,
                       RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        std::vector<std::string> keys;
        for (int i = 0; i < 20; ++i) {
            keys.push_back(key_of(std::to_string(i)));
            put(*registry, keys.back(), full_record());
        }
        std::sort(keys.begin(), keys.end());
        const auto lock = registry->lock(key_of("locked"), Deadline::after({}));
        const auto claim = registry->claim(key_of("claimed"));
        CHECK(books.open()->keys() == keys);
    }

    TEST_CASE_TEMPLATE("a use is noted without a lock, and outlasts what is written", Books,
                       FileBooks, RedisBooks)
    {
        const Books books;
        const auto key = key_of("work");
        const auto registry = books.open();
        put(*registry, key, full_record());
        const auto before = registry->find(key);
        REQUIRE(before.has_value());
        const auto other = books.open();
        const auto lock = registry->lock(key, Deadline::after(20s));
        other->touch(key);
        CHECK(other->find(key)->last_used > before->last_used + 1h);
        const auto noted = other->find(key)->used;
        REQUIRE(noted.has_value());
        CHECK(passed_since(*noted, HostTime::now()).value_or(1h) < 1min);
        registry->put(key, *before);
        CHECK(registry->find(key)->last_used > before->last_used + 1h);
        auto older = *before;
        older.used = HostTime{noted->boot, noted->up - 1s, noted->wall + 24h};
        registry->put(key, older);
        CHECK(registry->find(key)->used == noted);
    }

    TEST_CASE_TEMPLATE("a use that was noted is in the books when its server has gone", Books,
                       FileBooks, RedisBooks)
    {
        const Books books;
        const auto key = key_of("work");
        put(*books.open(), key, full_record());
        books.open()->touch(key);
        CHECK(books.open()->find(key)->last_used > full_record().last_used + 1h);
    }

    TEST_CASE_TEMPLATE("a damaged record is told as one, and can be replaced and erased", Books,
                       FileBooks, RedisBooks)
    {
        const Books books;
        const auto key = key_of("work");
        const auto registry = books.open();
        for (const bool by_token : {false, true}) {
            CAPTURE(by_token);
            put(*registry, key, full_record());
            by_token ? books.lose_token(key) : books.damage(key);
            CHECK_THROWS_AS((void)registry->find(key), DamagedRecord);
            CHECK(registry->keys() == std::vector{key});
            try {
                (void)registry->find(key);
            } catch (const Error& error) {
                CHECK(std::string(error.what()).find(key) != std::string::npos);
                CHECK(error.hint().find("berth sessions kill " + key) != std::string::npos);
            }
            put(*registry, key, full_record());
            CHECK(registry->find(key)->owner == full_record().owner);
            by_token ? books.lose_token(key) : books.damage(key);
            const auto lock = registry->lock(key, Deadline::after(20s));
            registry->erase(key);
            CHECK_FALSE(registry->find(key).has_value());
            CHECK(registry->keys().empty());
        }
    }

    TEST_CASE_TEMPLATE("servers at once write one after another, and readers see whole records",
                       Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto key = key_of("work");
        constexpr int servers = 4;
        constexpr int rounds = 25;
        auto first = full_record();
        first.epoch = 0;
        first.owner = first.machine.id;
        put(*books.open(), key, first);
        std::atomic<int> odd{0};
        std::atomic<bool> over{false};
        std::jthread reader([&] {
            const auto registry = books.open();
            while (!over) {
                const auto record = registry->find(key);
                odd += record && record->owner == record->machine.id ? 0 : 1;
            }
        });
        {
            std::vector<std::jthread> threads;
            for (int server = 0; server < servers; ++server) {
                threads.emplace_back([&, server] {
                    const auto registry = books.open();
                    for (int round = 0; round < rounds; ++round) {
                        const auto lock = registry->lock(key, Deadline::after(60s));
                        auto record = registry->find(key).value();
                        ++record.epoch;
                        record.owner = std::to_string(server) + "/" + std::to_string(round);
                        record.machine.id = record.owner;
                        registry->put(key, record);
                    }
                });
            }
        }
        over = true;
        reader.join();
        CHECK(odd == 0);
        CHECK(books.open()->find(key)->epoch == servers * rounds);
    }
}
