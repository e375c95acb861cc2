// Which sessions count when one more is to be made: told without a look at the records, and never
// one with a machine left out.

#include "sandbox/session/machine_marks.hpp"
#include "sandbox/session/registry.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::State;
using tests::FileBooks;
using tests::full_record;
using tests::key_of;
using tests::RedisBooks;
using Keys = std::vector<std::string>;

namespace {

void put(session::Registry& registry, const std::string& name, State state,
         const std::string& principal = "ann")
{
    auto record = full_record();
    record.state = state;
    record.id.principal = principal;
    const auto lock = registry.lock(key_of(name), Deadline::after(20s));
    registry.put(key_of(name), record);
}

/// "runs", which is bob's, "ended", and "damaged", of which nobody knows any more.
template <class Books>
void put_three(const Books& books, session::Registry& registry)
{
    put(registry, "runs", State::running, "bob");
    put(registry, "ended", State::ended);
    put(registry, "damaged", State::running);
    books.damage(key_of("damaged"));
}

void erase(session::Registry& registry, const std::string& name)
{
    const auto lock = registry.lock(key_of(name), Deadline::after(20s));
    registry.erase(key_of(name));
}

bool has(const Keys& keys, const std::string& name)
{
    return std::ranges::find(keys, key_of(name)) != keys.end();
}

} // namespace

TEST_SUITE("session/machine_marks")
{
    TEST_CASE_TEMPLATE("no session with a machine is left out", Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        CHECK(registry->may_have_machine().empty());
        put(*registry, "made", State::creating);
        put(*registry, "runs", State::running);
        const auto keys = books.open()->may_have_machine();
        CHECK(has(keys, "made"));
        CHECK(has(keys, "runs"));
        CHECK(registry->may_be_of("ann", keys) == keys);
    }

    TEST_CASE_TEMPLATE(
        "what has ended, was lost or is gone counts no more, and again when it is made anew", Books,
        FileBooks, RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        CHECK(registry->may_have_machine().empty());
        for (const char* name : {"ended", "lost", "gone"}) {
            put(*registry, name, State::running);
        }
        CHECK(registry->may_have_machine().size() == 3);
        put(*registry, "ended", State::ended);
        put(*registry, "lost", State::lost);
        erase(*registry, "gone");
        CHECK(registry->may_have_machine().empty());
        put(*registry, "lost", State::creating);
        CHECK(registry->may_have_machine() == Keys{key_of("lost")});
    }

    TEST_CASE_TEMPLATE("a session is one principal's, and the next one's when that one has it",
                       Books, FileBooks, RedisBooks)
    {
        const Books books;
        const auto registry = books.open();
        put(*registry, "hers", State::running, "ann");
        put(*registry, "his", State::running, "bob");
        const auto keys = registry->may_have_machine();
        REQUIRE(keys.size() == 2);
        CHECK(registry->may_be_of("ann", keys) == Keys{key_of("hers")});
        CHECK(registry->may_be_of("bob", keys) == Keys{key_of("his")});
        CHECK(registry->may_be_of("eve", keys).empty());
        put(*registry, "his", State::running, "ann"); // by a template that keeps them in one
        CHECK(registry->may_be_of("ann", keys).size() == 2);
        CHECK(registry->may_be_of("bob", keys).empty());
        CHECK(registry->may_have_machine().size() == 2);
        CHECK(registry->may_be_of("bob", {key_of("unmarked")}).size() == 1);
    }

    TEST_CASE("a server that was killed while it changed a mark keeps nobody from changing it")
    {
        const FileBooks books;
        const auto registry = books.open();
        put(*registry, "work", State::running, "ann");
        const auto mark = books.directory / ("state/marks/" + key_of("work"));
        std::filesystem::create_symlink("half", mark + ".new");
        put(*registry, "work", State::running, "bob");
        CHECK(registry->may_be_of("bob", {key_of("work")}).size() == 1);
        CHECK(registry->may_be_of("ann", {key_of("work")}).empty());
        CHECK_FALSE(std::filesystem::is_symlink(mark + ".new"));
    }

    TEST_CASE("a state directory of an earlier release is looked through once")
    {
        const FileBooks books;
        const auto registry = books.open();
        put_three(books, *registry);
        const auto marks = books.directory / "state/marks";
        std::filesystem::remove_all(marks);
        CHECK(registry->may_have_machine() == Keys{key_of("runs")});
        CHECK(registry->may_be_of("ann", {key_of("runs")}).empty());
        CHECK(std::filesystem::exists(marks + "/complete"));
        // Afterwards the marks are believed.
        std::filesystem::remove(marks + "/" + key_of("runs"));
        CHECK(registry->may_have_machine().empty());
    }

    TEST_CASE("a Redis with records and no marks is looked through once")
    {
        const RedisBooks books;
        const auto registry = books.open();
        put_three(books, *registry);
        (void)books.server.say({"DEL", session::redis_keys::machines});
        CHECK(registry->may_have_machine() == Keys{key_of("runs")});
        CHECK(registry->may_be_of("ann", {key_of("runs")}).empty());
        // Afterwards the marks are believed, and no record is read for them.
        (void)books.server.say({"HDEL", session::redis_keys::machines, key_of("runs")});
        CHECK(registry->may_have_machine().empty());
    }

    TEST_CASE("records that are written again after a loss of the data are marked again")
    {
        const RedisBooks books;
        const auto registry = books.open();
        put(*registry, "runs", State::running, "bob");
        put(*registry, "ended", State::ended);
        CHECK(registry->may_have_machine() == Keys{key_of("runs")});
        (void)books.server.say({"FLUSHALL"});
        CHECK(registry->may_have_machine() == Keys{key_of("runs")});
        CHECK(registry->may_be_of("ann", {key_of("runs")}).empty());
    }

    TEST_CASE("a record that has expired counts no more")
    {
        const RedisBooks books;
        const auto registry = books.open();
        put(*registry, "gone", State::running);
        CHECK(registry->may_have_machine() == Keys{key_of("gone")});
        (void)books.server.say({"DEL", session::redis_keys::record(key_of("gone"))});
        CHECK(registry->keys().empty());
        CHECK(registry->may_have_machine().empty());
    }
}
