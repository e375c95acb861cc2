// What becomes of a session whose record cannot be written when its machine ends.

#include "sandbox/protocol/wire.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/failing_registry.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::AtEnd;
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

/// One that owes files of its home.
struct SavingFixture : Fixture {
    SavingFixture()
    {
        settings.save_on_end = {.patterns = {"out"}, .workspace = "/workspace"};
        settings.choose_folder = [this](const session::Leaving& /*leaving*/) {
            return "/sessions/work-" + std::to_string(saved.size());
        };
        settings.save = [this](sandbox::Sandbox& /*sandbox*/, const session::Leaving& leaving,
                               const std::stop_token& /*stop*/) {
            if (during) {
                during();
            }
            saved.push_back(leaving);
            return session::SavedFiles{
                .session = {}, .folder = leaving.folder, .files = 1, .bytes = 5, .skipped = {}};
        };
        end(); // which was told nothing of it
        (void)start()->acquire(work);
    }

    std::vector<session::Leaving> saved;
    std::function<void()> during; ///< each save

    [[nodiscard]] session::Collected collect() const
    {
        return start()->collect_leftovers(Deadline::after(5s), {}, {.old = true, .older_than = {}});
    }

    [[nodiscard]] bool has_home() const
    {
        return std::filesystem::exists(backend->home(key_hash(work)));
    }

    [[nodiscard]] std::string noted_folder() { return books.find(key_hash(work))->saving.folder; }
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

    TEST_CASE_FIXTURE(Fixture, "an end that cannot be noted is none the less told as one")
    {
        fail(ErrorCode::no_space);
        const auto ended = keeper.end(key_hash(work), {.deadline = Deadline::after(5s)});
        CHECK(ended);
        REQUIRE(ended.unnoted);
        CHECK(ended.unnoted->code() == ErrorCode::no_space);
        CHECK_FALSE(lives());
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

    TEST_CASE_FIXTURE(SavingFixture,
                      "what is saved and cannot be noted is told, and saved in the same "
                      "folder again")
    {
        const auto end_it = [&](bool purge) {
            return keeper.end(key_hash(work), {.purge = purge, .deadline = Deadline::after(5s)});
        };
        during = [&] {
            CHECK(noted_folder() == "/sessions/work-0"); // for who is killed now
            books.before_put = [] { throw Error(ErrorCode::no_space, "the disk is full"); };
        };
        SUBCASE("by whoever does it next")
        {
            const auto ended = end_it(false);
            CHECK(ended);
            REQUIRE(ended.saved);
            CHECK(ended.saved->folder == "/sessions/work-0");
            CHECK(ended.trouble.empty());
            REQUIRE(ended.unnoted);
            CHECK(ended.unnoted->what() == std::string("the disk is full"));
            CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
            during = nullptr;
            CHECK(collect().saved.size() == 1);
            CHECK(saved.at(1).folder == "/sessions/work-0");
            CHECK_FALSE(saved.at(1).is_first);
            CHECK(collect().saved.empty());
            return;
        }
        SUBCASE("but for a purge, which needs no room")
        {
            const auto ended = end_it(true);
            CHECK(ended.saved);
            CHECK_FALSE(ended.unnoted);
            CHECK_FALSE(has_home());
            return;
        }
        SUBCASE("unless the end of the machine that did it makes room")
        {
            backend->before_end = [&] { books.before_put = nullptr; };
            CHECK_FALSE(end_it(false).unnoted);
            CHECK(collect().saved.empty());
            CHECK(saved.size() == 1);
        }
    }

    TEST_CASE_FIXTURE(SavingFixture,
                      "on a full disk one that owes files ends, and nobody denies it")
    {
        books.before_put = [] { throw Error(ErrorCode::no_space, "the disk is full", "give up"); };
        const auto end_it = [&](AtEnd files) {
            return keeper.end(key_hash(work),
                              {.purge = true, .files = files, .deadline = Deadline::after(5s)});
        };
        const auto ended = end_it(AtEnd::save);
        CHECK(ended);
        CHECK_FALSE(ended.saved);
        CHECK(ended.trouble == "the disk is full");
        CHECK(ended.remedy == "give up");
        CHECK_FALSE(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK(has_home());
        const auto given_up = end_it(AtEnd::give_up);
        CHECK(given_up);
        CHECK_FALSE(given_up.unnoted);
        CHECK_FALSE(has_home());
    }
}
