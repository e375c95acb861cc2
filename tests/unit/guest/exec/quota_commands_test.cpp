#include "sandbox/guest/quota/home_quota.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

using berth::guest::HomeQuota;
using berth::guest::test::Guest;
using berth::guest::test::in_each_mode;
using berth::guest::test::Mode;
using namespace berth; // NOLINT(google-build-using-namespace): the protocol's names
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

std::shared_ptr<HomeQuota> limit(Guest& guest, std::uint64_t size)
{
    protocol::GuestConfig config;
    config.home = guest.home();
    config.quota = size;
    auto quota = std::make_shared<HomeQuota>(config);
    guest.commands->watch_quota(guest.workers, quota);
    return quota;
}

std::string job_of(Guest& guest, const std::string& command)
{
    auto request = Guest::request(command, 60'000);
    request.background = true;
    const auto outcome = guest.run(request);
    REQUIRE_FALSE(outcome.error);
    return outcome.reply.job_id;
}

bool runs(Guest& guest, const std::string& job)
{
    for (const auto& entry : guest.commands->jobs()) {
        if (entry.job_id == job) {
            return entry.status == "running";
        }
    }
    return false;
}

} // namespace

TEST_CASE("a command that makes the home too large is stopped, with its output and the reason")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        (void)limit(guest, 16 * mebibyte);
        const auto outcome =
            guest.run("echo before; head -c 64M /dev/urandom > large; echo after; sleep 30");
        REQUIRE_FALSE(outcome.error);
        CHECK(outcome.took < 20s);
        CHECK(outcome.reply.fate == protocol::Fate::signaled);
        CHECK(outcome.reply.exit_code == 137);
        CHECK(outcome.reply.out.head.starts_with("before\n"));
        CHECK(outcome.reply.notice.find("session.quota") != std::string::npos);
        CHECK(outcome.reply.survivors == 0);
        CHECK(std::filesystem::exists(guest.home() + "/large")); // nothing is deleted
    });
}

TEST_CASE(
    "of several the one that writes is stopped, however old it is, and goes on writing in vain")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        (void)limit(guest, 16 * mebibyte);
        const auto quiet = job_of(guest, "sleep 60");
        const auto writer = job_of(guest, "sleep 1; head -c 500M /dev/zero > large; sleep 60");
        const auto newest = job_of(guest, "sleep 60");
        REQUIRE(guest.until([&] { return !runs(guest, writer); }));
        guest.spin(1000ms);
        CHECK(runs(guest, quiet));
        CHECK(runs(guest, newest));
        const auto ended = guest.commands->ended_jobs();
        REQUIRE(ended.size() == 1);
        CHECK(ended.front().job_id == writer);
    });
}

TEST_CASE("in a home that is too large files can be deleted, and small ones written")
{
    Guest guest(Mode::subreaper);
    const auto quota = limit(guest, 4 * mebibyte);
    std::ofstream(guest.home() + "/large") << std::string(12 * mebibyte, 'x');
    quota->count();
    const auto outcome = guest.run("echo small > small && sleep 1 && rm large && ls");
    REQUIRE_FALSE(outcome.error);
    CHECK(outcome.reply.exit_code == 0);
    CHECK(outcome.reply.out.head == "small\n");
    CHECK(outcome.reply.notice.find("make room first") != std::string::npos);
    quota->count();
    CHECK(guest.run("true").reply.notice.empty());
}

TEST_CASE("commands that are over before they can be stopped fill no home that is too large")
{
    Guest guest(Mode::subreaper);
    const auto quota = limit(guest, 4 * mebibyte);
    std::ofstream(guest.home() + "/large") << std::string(6 * mebibyte, 'x');
    quota->count();
    for (int number = 0; number < 5; ++number) {
        (void)guest.run("head -c 9M /dev/zero > more" + std::to_string(number));
    }
    CHECK(quota->count() <= 12 * mebibyte);
    const auto outcome = guest.run("rm *; ulimit -S -f unlimited; head -c 2M /dev/zero > f; ls");
    CHECK(outcome.reply.out.head == "f\n");
}

TEST_CASE("what is written outside of the home stops nobody")
{
    Guest guest(Mode::subreaper);
    (void)limit(guest, 4 * mebibyte);
    const auto outcome = guest.run("file=$(mktemp) && head -c 16M /dev/zero > $file && sleep 1; "
                                   "rm $file && echo done");
    REQUIRE_FALSE(outcome.error);
    CHECK(outcome.reply.out.head == "done\n");
}
