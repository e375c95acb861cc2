// Files with several hard links are written in place: who must not see that, and what a kill in the
// midst of it leaves.

#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/files/content_waiter.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <atomic>
#include <csignal>
#include <thread>

using berth::Error;
using berth::UniqueFd;
using berth::guest::ContentLock;
using berth::guest::grep_files;
using berth::guest::read_file;
using berth::guest::write_file;
using berth::guest::testing::a_writer_waits;
using berth::guest::testing::Machine;
using berth::guest::testing::read_request;
using berth::tests::becomes_true;
namespace protocol = berth::protocol;

namespace {

void overwrite(const Machine& machine, const std::string& content)
{
    protocol::WriteFileRequest request;
    request.path = "f";
    request.content = content;
    (void)write_file(request, machine.context);
}

/// A file "f" that has another name, "g".
void put_linked(const Machine& machine, const std::string& content)
{
    machine.put("f", content);
    REQUIRE(::link((machine.home + "/f").c_str(), (machine.home + "/g").c_str()) == 0);
}

std::string lines_of(char letter, std::size_t count)
{
    std::string result;
    result.reserve(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        result += letter;
        result += '\n';
    }
    return result;
}

/// The path of what a killed write has left; empty when there is none.
std::string find_backup(const Machine& machine)
{
    for (const auto& entry : std::filesystem::directory_iterator(machine.home)) {
        if (entry.path().filename().string().starts_with("berth-backup-")) {
            return entry.path().filename().string();
        }
    }
    return {};
}

/// A write that is killed once there is a backup; false when it was through by then.
bool kill_in_the_midst(const Machine& machine, const std::string& content)
{
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            overwrite(machine, content);
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && find_backup(machine).empty()) {
        ended = ::waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    return WIFSIGNALED(status);
}

} // namespace

TEST_CASE("no call sees a file half written in place")
{
    const Machine machine;
    const std::string one = lines_of('a', 4'000'000);
    const std::string other = lines_of('b', 3'000'000);
    const std::string hashes[] = {berth::sha256_hex(one), berth::sha256_hex(other)};
    put_linked(machine, one);
    std::atomic<bool> done = false;
    std::atomic<int> torn = 0;
    std::atomic<int> seen = 0;
    std::jthread reader([&] {
        while (!done) {
            const auto hash = read_file(read_request("g"), machine.context).sha256;
            torn += hash == hashes[0] || hash == hashes[1] ? 0 : 1;
            ++seen;
        }
    });
    std::jthread searcher([&] {
        protocol::GrepRequest request;
        request.pattern = "a";
        request.path = "g";
        request.mode = protocol::GrepMode::count;
        request.budget = 1000;
        while (!done) {
            const auto count = grep_files(request, machine.context).total_matches;
            torn += count == 0 || count == 4'000'000 ? 0 : 1;
            ++seen;
        }
    });
    for (int i = 0; i < 15 || (seen.load() < 10 && i < 1000); ++i) {
        overwrite(machine, i % 2 == 0 ? other : one);
    }
    done = true;
    reader.join();
    searcher.join();
    CHECK(torn.load() == 0);
    CHECK(machine.count() == 2);
}

TEST_CASE("the old content is to be had after a kill in the midst of a write in place")
{
    const Machine machine;
    const std::string old(40'000'000, 'o');
    bool killed = false;
    for (int attempt = 0; attempt < 20 && !killed; ++attempt) {
        std::filesystem::remove(machine.home + "/f");
        std::filesystem::remove(machine.home + "/g");
        put_linked(machine, old);
        killed = kill_in_the_midst(machine, std::string(39'000'000, 'n'));
    }
    REQUIRE(killed);
    const std::string backup = find_backup(machine);
    REQUIRE(backup.ends_with("-f"));
    CHECK(machine.get(backup) == old);
    // It is the user's now: no later write takes it for a leftover.
    overwrite(machine, "new");
    CHECK(machine.get("g") == "new");
    CHECK(machine.get(backup) == old);
    CHECK(machine.count() == 3);
}

TEST_CASE("a write in place that only waits for who reads has no backup, and can be cancelled")
{
    Machine machine;
    put_linked(machine, "old");
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    std::stop_source stop;
    machine.context.stop = stop.get_token();
    const ContentLock reader(file.get(), ContentLock::Kind::shared, {});
    berth::ErrorCode code{};
    std::jthread writer(
        [&] { code = berth::guest::testing::error_of([&] { overwrite(machine, "new"); }).code(); });
    CHECK(becomes_true([&] { return a_writer_waits(file.get()); }));
    // A kill now has nothing to repair: the file is as it was.
    CHECK(find_backup(machine).empty());
    stop.request_stop();
    writer.join();
    CHECK(code == berth::ErrorCode::cancelled);
    CHECK(machine.get("f") == "old");
    CHECK(machine.count() == 2);
}

TEST_CASE("who waits for a content lock ends with the call")
{
    const Machine machine;
    machine.put("f", "");
    machine.put("other", "");
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd other(::open((machine.home + "/other").c_str(), O_RDONLY | O_CLOEXEC));
    using Kind = ContentLock::Kind;
    ContentLock reader(file.get(), Kind::shared, {});
    CHECK(ContentLock(file.get(), Kind::shared, {}).owns());
    CHECK(ContentLock(other.get(), Kind::exclusive, {}).owns());
    std::stop_source stopped;
    std::atomic<bool> owned = true;
    std::jthread writer(
        [&] { owned = ContentLock(file.get(), Kind::exclusive, stopped.get_token()).owns(); });
    stopped.request_stop();
    writer.join();
    CHECK_FALSE(owned.load());
    CHECK(ContentLock(file.get(), Kind::shared, {}).owns());
    reader = ContentLock();
    const ContentLock exclusive(file.get(), Kind::exclusive, {});
    CHECK(exclusive.owns());
    CHECK_FALSE(ContentLock(file.get(), Kind::shared, stopped.get_token()).owns());
    CHECK_FALSE(ContentLock(-1, Kind::shared, {}).owns());
}
