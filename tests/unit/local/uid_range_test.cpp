#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/uid_range.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

TEST_CASE("a session keeps its uid and no other gets it while its folder exists")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 3);
    for (const char* name : {"a", "b", "c", "d"}) {
        state.add_directory(std::string("sessions/") + name);
    }
    const std::set<unsigned> all{range.claim("a"), range.claim("b"), range.claim("c")};
    CHECK(all == std::set<unsigned>{5000, 5001, 5002});
    CHECK(range.claim("b") == range.claim("b"));
    CHECK_THROWS_AS((void)range.claim("d"), Error);

    const unsigned freed = range.claim("a");
    range.release("a");
    CHECK(range.claim("d") == freed);
    CHECK_THROWS_AS((void)range.claim("a"), Error);
    range.release("never-there");
}

TEST_CASE("nothing is written where a link leads that is in the place of a session's folder")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 2);
    const auto sessions = state.path() + "/sessions";
    state.add_directory("sessions/a");
    state.add_directory("sessions/b");
    state.add_directory("elsewhere");
    REQUIRE(range.claim("a") == 5000);
    std::filesystem::remove_all(sessions + "/a");
    SUBCASE("a link")
    {
        std::filesystem::create_directory_symlink(state.path() + "/elsewhere", sessions + "/a");
    }
    SUBCASE("a file")
    {
        state.add("sessions/a", "");
    }
    CHECK_THROWS_AS((void)range.claim("a"), std::system_error);
    CHECK(std::filesystem::is_empty(state.path() + "/elsewhere"));
    // Whose uid that is nobody can tell, so it is nobody else's, and the others have theirs.
    CHECK(range.claim("b") == 5001);
    range.release("a");
    CHECK(range.claim("b") == 5001);
    state.add_directory("sessions/c");
    CHECK(range.claim("c") == 5000);
}

TEST_CASE("a session whose folder is missing has no uid")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 1);
    CHECK_THROWS_AS((void)range.claim("a"), std::system_error);
    state.add_directory("sessions/b");
    CHECK_THROWS_AS((void)range.claim("a"), std::system_error);
    CHECK(range.claim("b") == 5000); // which is left for who has one
}

TEST_CASE("a folder that was removed by hand frees its uid")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 1);
    state.add_directory("sessions/a");
    state.add_directory("sessions/b");
    CHECK(range.claim("a") == 5000);
    std::filesystem::remove_all(state.path() + "/sessions/a");
    CHECK(range.claim("b") == 5000);
    // It came back, with a uid file of its own telling: the uid is b's now.
    state.add("sessions/a/uid", "5000");
    CHECK_THROWS_AS((void)range.claim("a"), Error);
}

TEST_CASE("a session whose uid file is damaged keeps its uid until it is released")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 2);
    const auto at = [&](const char* path) { return state.path() + "/" + path; };
    for (const auto& damage : {std::string("garbage"), std::string("5000 or so"), std::string(),
                               std::string(1000, '5')}) {
        CAPTURE(damage);
        for (const char* name : {"a", "b", "c"}) {
            state.add_directory(std::string("sessions/") + name);
        }
        const unsigned mine = range.claim("a");
        const unsigned other = range.claim("b");
        state.add("sessions/a/uid", damage);
        CHECK_THROWS_AS((void)range.claim("c"), Error); // its files would be a's
        CHECK(range.claim("a") == mine);
        state.add("sessions/a/uid", damage);
        range.release("a");
        CHECK_FALSE(std::filesystem::exists(at("sessions/a/uid")));
        CHECK_FALSE(std::filesystem::exists(at("uids/") + std::to_string(mine)));
        CHECK(range.claim("b") == other);
        CHECK(range.claim("c") == mine);
        for (const char* name : {"b", "c"}) {
            range.release(name);
        }
    }
}

namespace {

/// Sessions with homes, of which root's have uids; nothing for others.
struct Homes {
    const TemporaryTree state;
    const UniqueFd fd{::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    UidRange range{fd.get(), 5000, 4};

    void add(const std::string& name) const { state.add_directory("sessions/" + name); }

    void give_home(const std::string& name, unsigned uid) const
    {
        state.add_directory("sessions/" + name + "/home");
        REQUIRE(::chown((state.path() + "/sessions/" + name + "/home").c_str(), uid, uid) == 0);
    }
};

} // namespace

TEST_CASE("a power loss that leaves nothing of the notes leaves each session the uid of its files")
{
    if (::geteuid() != 0) {
        return; // only root has a range
    }
    const Homes homes;
    const auto& [state, fd, range] = homes;
    for (const char* name : {"a", "b", "new"}) {
        homes.add(name);
    }
    for (const char* name : {"a", "b"}) {
        homes.give_home(name, range.claim(name));
    }
    std::string left; // of each file
    bool claims = true;
    bool notes = true;
    SUBCASE("names") {}
    SUBCASE("zeros")
    {
        left.assign(2, '\0');
    }
    SUBCASE("claims alone")
    {
        notes = false;
    }
    SUBCASE("the sessions' own alone")
    {
        claims = false;
    }
    for (const std::string name : {"uids/lock", "uids/5000", "uids/5001"}) {
        if (claims) {
            state.add(name, left);
        }
    }
    for (const std::string name : {"a", "b"}) {
        if (notes) {
            state.add("sessions/" + name + "/uid", left);
        }
    }
    CHECK(range.claim("new") == 5002); // first: it has no files that say otherwise
    CHECK(range.claim("b") == 5001);
    CHECK(range.claim("a") == 5000);
    CHECK(range.claim("b") == 5001);
    // It goes with them, and is free when they are gone.
    std::filesystem::remove_all(state.path() + "/sessions/a");
    state.add("uids/5000", "");
    state.add_directory("sessions/last");
    state.add_directory("sessions/more");
    CHECK(std::set<unsigned>{range.claim("last"), range.claim("more")} ==
          std::set<unsigned>{5000, 5003});
}

TEST_CASE("a session whose own note is missing has the uid of its files, if nobody else has")
{
    if (::geteuid() != 0) {
        return; // only root has a range
    }
    const Homes homes;
    const auto& [state, fd, range] = homes;
    homes.add("a");
    homes.add("new");
    REQUIRE(range.claim("a") == 5000);
    homes.give_home("a", 5000);
    std::filesystem::remove(state.path() + "/sessions/a/uid");
    state.add("uids/lock", "");
    CHECK(range.claim("new") == 5001);
    SUBCASE("it has them")
    {
        CHECK(range.claim("a") == 5000);
    }
    SUBCASE("another's claim is not overruled")
    {
        state.add("uids/5000", "new");
        state.add("sessions/new/uid", "5000");
        CHECK(range.claim("a") != 5000);
    }
    SUBCASE("one that is out of the range is nobody's")
    {
        homes.give_home("a", 4999);
        CHECK(range.claim("a") >= 5000);
    }
}

TEST_CASE("claims at the same time never meet")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::vector<unsigned> uids(16);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < uids.size(); ++i) {
        state.add_directory("sessions/s" + std::to_string(i));
        threads.emplace_back(
            [&, i] { uids.at(i) = UidRange(fd.get(), 7000, 100).claim("s" + std::to_string(i)); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(std::set<unsigned>(uids.begin(), uids.end()).size() == uids.size());
}

namespace {

/// Two sessions, of which `a` has a home and the uid 5000.
struct HandOver {
    TemporaryTree state;
    UniqueFd fd{::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    UidRange range{fd.get(), 5000, 3};

    HandOver()
    {
        state.add_directory("sessions/a/home");
        state.add_directory("sessions/b");
        state.add_directory("sessions/c");
        REQUIRE(range.claim("a") == 5000);
    }

    [[nodiscard]] std::string at(const char* path) const { return state.path() + "/" + path; }

    void move() const { std::filesystem::rename(at("sessions/a/home"), at("sessions/b/home")); }

    /// As a process does that is killed before the home has moved, or after.
    void die_in_handover(bool moved)
    {
        const pid_t pid = ::fork();
        if (pid == 0) {
            range.hand_over("a", "b", [&] {
                if (moved) {
                    move();
                }
                ::_exit(0);
            });
            ::_exit(1);
        }
        int status = -1;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        REQUIRE(status == 0);
    }

    void check_is_new()
    {
        CHECK(range.claim("b") == 5000);
        CHECK(range.claim("a") != 5000);
        CHECK(range.claim("c") != 5000);
        CHECK_FALSE(std::filesystem::exists(at("uids/handover")));
    }

    void check_is_old()
    {
        CHECK(range.claim("b") != 5000);
        CHECK(range.claim("a") == 5000);
        CHECK(range.claim("c") != 5000);
        CHECK_FALSE(std::filesystem::exists(at("uids/handover")));
    }
};

} // namespace

TEST_CASE_FIXTURE(HandOver, "a uid goes with its home to another session")
{
    range.hand_over("a", "b", [&] { move(); });
    check_is_new();
}

TEST_CASE_FIXTURE(HandOver, "a home that stays keeps its uid")
{
    CHECK_THROWS_AS(range.hand_over("a", "b", [] { throw std::runtime_error("no"); }),
                    std::runtime_error);
    check_is_old();
    CHECK_THROWS_AS(range.hand_over("never-there", "b", [] {}), Error);
}

TEST_CASE_FIXTURE(HandOver, "whenever a process dies the uid is its home's")
{
    bool moved = false;
    SUBCASE("before the move") {}
    SUBCASE("after it")
    {
        moved = true;
    }
    die_in_handover(moved);
    REQUIRE(std::filesystem::exists(at("uids/handover")));
    SUBCASE("whoever comes next")
    {
        moved ? check_is_new() : check_is_old();
    }
    SUBCASE("whoever clears up, also what was not written to its end")
    {
        for (const char* name : {"uids/5000.tmp.12ab", "uids/handover.tmp.34cd"}) {
            state.add(name, "");
        }
        UidRange::clear_up(fd.get());
        CHECK_FALSE(std::filesystem::exists(at("uids/5000.tmp.12ab")));
        CHECK_FALSE(std::filesystem::exists(at("uids/handover.tmp.34cd")));
        CHECK_FALSE(std::filesystem::exists(at("uids/handover")));
        moved ? check_is_new() : check_is_old();
    }
    SUBCASE("also where the old session is removed first")
    {
        range.release("a");
        if (moved) {
            CHECK(range.claim("c") != 5000);
            CHECK(range.claim("b") == 5000);
        } else { // it is free again
            CHECK(std::set<unsigned>{range.claim("a"), range.claim("b"), range.claim("c")}.contains(
                5000));
        }
    }
}

TEST_CASE_FIXTURE(HandOver, "a home that is removed before its handover was settled frees its uid")
{
    bool in_part = false;
    SUBCASE("whole") {}
    SUBCASE("in part")
    {
        in_part = true;
    }
    die_in_handover(/*moved=*/true);
    if (in_part) { // its files may be there still
        std::filesystem::rename(at("sessions/b/home"), at("sessions/b/home.removed"));
        check_is_new();
        return;
    }
    std::filesystem::remove_all(at("sessions/b/home"));
    range.release("b");
    CHECK_FALSE(std::filesystem::exists(at("uids/5000")));
    CHECK_FALSE(std::filesystem::exists(at("sessions/a/uid")));
    CHECK_FALSE(std::filesystem::exists(at("sessions/b/uid")));
}

TEST_CASE("who cannot have the lock is told so, and forgets no uid")
{
    const TemporaryTree state;
    const UniqueFd fd(::open(state.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    UidRange range(fd.get(), 5000, 3, std::chrono::milliseconds(20));
    state.add_directory("sessions/a");
    CHECK(range.claim("a") == 5000);
    {
        const UniqueFd held(::openat(fd.get(), "uids/lock", O_RDWR | O_CLOEXEC));
        REQUIRE(::flock(held.get(), LOCK_EX) == 0);
        CHECK(tests::error_of([&] { (void)range.choose("b"); }) == ErrorCode::busy);
        CHECK(tests::error_of([&] { range.release("a"); }) == ErrorCode::busy);
        CHECK(std::filesystem::exists(state.path() + "/sessions/a/uid"));
    }
    range.release("a");
    CHECK_FALSE(std::filesystem::exists(state.path() + "/sessions/a/uid"));
}
