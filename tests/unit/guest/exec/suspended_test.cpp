#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/suspension.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

// A host that was suspended for a night wakes with every timer of the loop overdue: no limit of a
// command's may fire for the time that the command did not have, and none is forgotten.

namespace berth::guest::test {
namespace {

using protocol::Fate;
using std::chrono::milliseconds;

constexpr std::chrono::hours night{8};

std::size_t start_and_wait(Guest& guest, const protocol::ExecuteRequest& request)
{
    const auto handle = guest.start(request);
    CHECK(guest.until([&] { return std::filesystem::exists(guest.home() + "/ready"); }));
    return handle;
}

} // namespace

TEST_CASE("the time of a command stands still while the host is suspended")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto handle =
            start_and_wait(guest, Guest::request(": >ready; sleep 1; echo after", 10'000));
        const tests::Suspension asleep(night);
        const auto done = guest.wait_for(handle);
        CHECK(done.reply.fate == Fate::exited);
        CHECK(done.reply.out.head == "after\n");
    });
}

TEST_CASE("and runs on behind it, to the end that it had")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string word = unique_word();
        const auto handle = start_and_wait(guest, Guest::request(": >ready; sleep " + word, 1'500));
        const tests::Suspension asleep(night);
        const auto done = guest.wait_for(handle);
        CHECK(done.reply.fate == Fate::timed_out);
        CHECK(done.took >= milliseconds(1'500));
        CHECK(processes_with(word) == 0);
    });
}

TEST_CASE("the lifetime of a job does the same")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        auto request =
            Guest::request(": >ready; sleep 1; echo after >after; sleep " + unique_word());
        request.background = true;
        request.job_lifetime = 3'000;
        const auto begun = std::chrono::steady_clock::now();
        const auto job = guest.wait_for(start_and_wait(guest, request)).reply.job_id;
        const tests::Suspension asleep(night);
        CHECK(guest.until([&] { return std::filesystem::exists(guest.home() + "/after"); }));
        CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
        CHECK(std::chrono::steady_clock::now() - begun >= milliseconds(3'000));
    });
}

} // namespace berth::guest::test
