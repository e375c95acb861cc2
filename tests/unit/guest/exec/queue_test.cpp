#include "sandbox/base/error.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Commands that wait for a place among those that may run at once.

namespace berth::guest::test {
using protocol::Fate;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds no_end{60'000};

/// With places for so many, and one that waits for a file taking the first.
struct Crowded : Guest {
    explicit Crowded(milliseconds patience = no_end, std::uint64_t timeout = 100'000)
        : Guest(Mode::subreaper, [](protocol::GuestConfig& config) { config.max_calls = 1; }),
          first_request(request("until [ -e go ]; do sleep 0.01; done", timeout)),
          first(start(first_request, "a"))
    {
        commands->wait_for_places(patience);
    }

    void release() const { std::ofstream(home() + "/go") << "now"; }

    [[nodiscard]] std::string log() const
    {
        std::ifstream file(home() + "/log");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    protocol::ExecuteRequest first_request;
    std::size_t first;
};

Error busy_in(const Outcome& outcome)
{
    REQUIRE(outcome.error);
    try {
        std::rethrow_exception(outcome.error);
    } catch (const Error& error) {
        return error;
    }
}

} // namespace

TEST_CASE("servers take turns for the places of commands, however many one of them asks for")
{
    Crowded guest;
    std::vector<std::size_t> all;
    for (int i = 0; i < 6; ++i) {
        all.push_back(guest.start(Guest::request("printf a >>log"), "a"));
    }
    for (int i = 0; i < 2; ++i) {
        all.push_back(guest.start(Guest::request("printf b >>log"), "b"));
    }
    CHECK(guest.commands->running() == 1);
    guest.release();
    for (const auto each : all) {
        CHECK(guest.wait_for(each).reply.fate == Fate::exited);
    }
    CHECK(guest.log() == "babaaaaa"); // the first was a's
    CHECK_FALSE(guest.commands->has_delayed());
}

TEST_CASE("a command that comes while others wait does not pass them")
{
    Crowded guest;
    const auto waits = guest.start(Guest::request("printf 1 >>log"), "b");
    (void)guest.start(Guest::request("printf 2 >>log"), "b");
    guest.commands->cancel(guest.first_request.id);
    (void)guest.wait_for(guest.first); // there is a place now, which the one that waits has
    const auto late = guest.start(Guest::request("printf 3 >>log"), "b");
    (void)guest.wait_for(waits);
    (void)guest.wait_for(late);
    CHECK(guest.log() == "123");
}

TEST_CASE("a command for which no place comes is told busy after a while, and is not run")
{
    Crowded guest(milliseconds(200));
    const auto outcome = guest.run(Guest::request("echo >ran"));
    const auto error = busy_in(outcome);
    CHECK(error.code() == ErrorCode::busy);
    CHECK(std::string(error.what()) ==
          "1 command of this session is running, and 1 may at once (session.calls)");
    CHECK(error.hint().find("Nothing was run: it waited 1 s for a place.") != std::string::npos);
    CHECK(outcome.took >= milliseconds(200));
    const auto& seconds = error.details().at("retry_after");
    CHECK(std::stoi(seconds) > 0);
    CHECK(std::stoi(seconds) <= 100);
    CHECK(error.hint().find("ends in " + seconds + " s at the latest") != std::string::npos);
    guest.release();
    (void)guest.wait_for(guest.first);
    CHECK(guest.run("true").reply.fate == Fate::exited);
    CHECK_FALSE(std::filesystem::exists(guest.home() + "/ran"));
}

TEST_CASE("whoever is told busy is told when, by how commands have ended of late")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) { config.max_calls = 1; });
    guest.commands->wait_for_places(milliseconds(100));
    for (int i = 0; i < 4; ++i) {
        (void)guest.run("true");
    }
    const auto request = Guest::request("sleep 300", 300'000);
    const auto one = guest.start(request);
    const auto error = busy_in(guest.run("true"));
    const auto& seconds = error.details().at("retry_after");
    CHECK(std::stoi(seconds) >= 1);
    CHECK(std::stoi(seconds) < 100); // and not its timeout
    CHECK(error.hint().find("s at the latest, and as they have ended of late there is a place in "
                            "about " +
                            seconds + " s.") != std::string::npos);
    guest.commands->cancel(request.id);
    (void)guest.wait_for(one);
}

TEST_CASE("of one server so many commands wait, and of another one more")
{
    Crowded guest;
    std::vector<protocol::ExecuteRequest> requests;
    std::vector<std::size_t> all;
    const auto wait = [&](const std::string& asker) {
        requests.push_back(Guest::request("echo >>ran"));
        all.push_back(guest.start(requests.back(), asker));
    };
    for (int i = 0; i < 32; ++i) {
        wait("a");
    }
    CHECK(code_of([&] { (void)guest.start(Guest::request("true"), "a"); }) == ErrorCode::busy);
    wait("b");
    CHECK(code_of([&] { (void)guest.start(Guest::request("true"), "b"); }) == ErrorCode::busy);
    CHECK(code_of([&] { (void)guest.start(requests.front(), "c"); }) ==
          ErrorCode::invalid_argument); // it waits already
    for (std::size_t i = 0; i < all.size(); ++i) {
        guest.commands->cancel(requests[i].id);
        CHECK(guest.outcome(all[i])->reply.fate == Fate::cancelled);
    }
    CHECK_FALSE(guest.commands->has_delayed());
    guest.release();
    (void)guest.wait_for(guest.first);
    (void)guest.run("true");
    CHECK_FALSE(std::filesystem::exists(guest.home() + "/ran"));
}

TEST_CASE("a command that waits when its connection ends is never run, and a job says so")
{
    Crowded guest;
    auto request = Guest::request("echo >ran");
    request.acknowledge = true;
    const auto waits = guest.start(request, "b");
    CHECK(guest.commands->has_delayed());
    CHECK_FALSE(guest.commands->is_settled());
    const auto job_id = guest.commands->detach(request.id);
    CHECK(job_id == "job-1");
    // Whoever comes back for it is told, too.
    CHECK(std::string(busy_in(*guest.outcome(waits)).what()).starts_with("it was not run"));
    CHECK_FALSE(guest.commands->has_delayed());
    const auto ended = guest.commands->ended_jobs();
    REQUIRE(ended.size() == 1);
    CHECK(ended.front().not_run);
    CHECK(ended.front().unseen);
    CHECK(ended.front().order == 2);
    CHECK(ended.front().fate == Fate::lost);
    CHECK(output(guest, job_id).state.notice.find("session.calls") != std::string::npos);
    guest.release();
    (void)guest.wait_for(guest.first);
    (void)guest.run("true");
    CHECK_FALSE(std::filesystem::exists(guest.home() + "/ran"));
}

TEST_CASE("a place is there as soon as a command is a call no more, or more of them may be")
{
    Crowded guest;
    const auto waits = guest.start(Guest::request("echo on"), "b");
    SUBCASE("its connection ended")
    {
        CHECK(guest.commands->detach(guest.first_request.id) == "job-1");
    }
    SUBCASE("it was cancelled")
    {
        guest.commands->cancel(guest.first_request.id);
    }
    SUBCASE("the limit was raised")
    {
        protocol::Terms terms;
        terms.calls = 2;
        guest.commands->change_limits(terms);
    }
    CHECK(guest.wait_for(waits).reply.out.head == "on\n");
}

TEST_CASE("the room of a request is kept for as long as the command waits")
{
    Crowded guest;
    bool began = false;
    const auto large = Guest::request("true #" + std::string(300'000, 'x'));
    const auto waits = guest.start(large, "b", [&] { began = true; });
    guest.spin(milliseconds(50));
    CHECK_FALSE(began);
    guest.release();
    CHECK(guest.wait_for(waits).reply.fate == Fate::exited);
    CHECK(began);
}

} // namespace berth::guest::test
