// What becomes of a session whose record cannot be written when its machine ends.

#include "sandbox/protocol/wire.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/failing_registry.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using tests::error_of;
using tests::work;

namespace {

struct Fixture : tests::ManagerFixture {
    tests::FailingRegistry books{session::make_file_registry(settings.state_directory)};
    session::MachineKeeper keeper{settings, *backend, books};

    Fixture() { (void)start()->acquire(work); }

    void fail(ErrorCode code)
    {
        books.before_put = [code] { throw Error(code, "the record cannot be written"); };
    }

    void end() { (void)keeper.end(key_hash(work), {.deadline = Deadline::after(5s)}); }

    [[nodiscard]] bool lives() const
    {
        return std::filesystem::exists(backend->alive(key_hash(work)));
    }
};

} // namespace

TEST_SUITE("session/failing_books")
{
    TEST_CASE_FIXTURE(Fixture, "a machine goes on that shared books cannot be told the end of")
    {
        tests::FailingRegistry elsewhere(session::make_file_registry(directory / "elsewhere"));
        elsewhere.shared = true;
        elsewhere.put(key_hash(work), *books.find(key_hash(work)));
        elsewhere.before_put = [] {
            throw Error(ErrorCode::sandbox_unavailable, "they cannot be reached");
        };
        session::MachineKeeper with_elsewhere(settings, *backend, elsewhere);
        const auto end_there = [&] {
            (void)with_elsewhere.end(key_hash(work), {.deadline = Deadline::after(5s)});
        };
        CHECK(error_of(end_there) == ErrorCode::sandbox_unavailable);
        CHECK(lives());
        CHECK(backend->count("destroy") == 0);
        CHECK(elsewhere.find(key_hash(work))->state == session::State::running);
        elsewhere.before_put = nullptr;
        end_there();
        CHECK_FALSE(lives());
        CHECK(elsewhere.find(key_hash(work))->state == session::State::ended);
    }

    TEST_CASE_FIXTURE(Fixture, "on a full disk one that is to be ended ends, which makes room")
    {
        fail(ErrorCode::no_space);
        backend->before_end = [&] { books.before_put = nullptr; };
        end();
        CHECK_FALSE(lives());
        CHECK(start()->facts(work).state == "ended");
    }

    TEST_CASE_FIXTURE(Fixture, "what the guest of one that has ended itself has noted stays where "
                               "it is until it is in the books")
    {
        end_machine(work);
        protocol::InfoReply words;
        words.ended.emplace_back().command = "make";
        words.ended.back().expected = true;
        words.ended.back().exit_code = 7;
        backend->noted = protocol::Parting::left;
        backend->words = protocol::encode(words);
        fail(ErrorCode::no_space);
        const auto collect = [&] {
            (void)keeper.collect(key_hash(work), session::AtEnd::leave, {});
        };
        CHECK(error_of(collect) == ErrorCode::no_space);
        CHECK(backend->count("destroy") == 0);
        books.before_put = nullptr;
        collect();
        CHECK(backend->count("destroy") == 1);
        const auto lease = start()->acquire(work);
        REQUIRE(lease.notices.size() == 2);
        CHECK(lease.notices[0].find("it ended with exit 7") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "of one that has nothing to be told what is left goes, which makes room")
    {
        end_machine(work);
        SUBCASE("though it has noted why it ended")
        {
            backend->noted = protocol::Parting::left;
        }
        SUBCASE("nor a note") {}
        fail(ErrorCode::no_space);
        backend->before_end = [&] { books.before_put = nullptr; };
        (void)keeper.collect(key_hash(work), session::AtEnd::leave, {});
        CHECK(backend->count("destroy") == 1);
        CHECK(start()->facts(work).state == (backend->noted ? "ended" : "lost"));
    }
}
