#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/uid_range.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

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
