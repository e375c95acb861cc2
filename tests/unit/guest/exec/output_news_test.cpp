#include "sandbox/guest/output_news.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

namespace berth::guest::test {
namespace {

using namespace std::chrono_literals;

/// Who listens to a command, and what was told.
struct Listener {
    std::vector<protocol::PrintedTail> told;
    bool takes = true;
    int offered = 0;
    std::shared_ptr<void> listening;

    Listener(Guest& guest, const std::string& id, std::chrono::milliseconds apart)
        : listening(guest.commands->tell_output(id, apart, [this](protocol::PrintedTail tail) {
              ++offered;
              if (takes) {
                  told.push_back(std::move(tail));
              }
              return takes;
          }))
    {
    }
};

} // namespace

TEST_CASE("what a command prints is told while it runs: the newest, as it is")
{
    Guest guest(Mode::subreaper);
    const auto request =
        Guest::request("for n in {1..9}; do echo line $n; sleep 0.1; done; sleep 9");
    Listener listener(guest, request.id, 150ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until(
        [&] { return !listener.told.empty() && listener.told.back().text.ends_with("line 9\n"); }));
    CHECK(listener.told.size() > 1);
    CHECK(listener.told.size() < 9); // they have come faster than they may be told
    CHECK(listener.told.front().text.starts_with("line 1\n"));
    CHECK(listener.told.back().total_bytes == 9 * 7);
    const auto told = listener.told.size();
    guest.spin(400ms); // nothing new
    CHECK(listener.told.size() == told);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("what is over before it is to be told, and what is silent, is never told")
{
    Guest guest(Mode::subreaper);
    const auto brief = Guest::request("echo brief");
    Listener to_brief(guest, brief.id, 5s);
    (void)guest.run(brief);
    const auto silent = Guest::request("sleep 0.3");
    Listener to_silent(guest, silent.id, 50ms);
    (void)guest.run(silent);
    CHECK(to_brief.offered + to_silent.offered == 0);
}

TEST_CASE("of an endless output little is told, the stream's end, and only to who listens")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("yes 0123456789");
    Listener listener(guest, request.id, 100ms);
    Listener other(guest, Guest::request("true").id, 100ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.told.size() >= 2; }));
    CHECK(listener.told.back().text.size() <= 4096);
    CHECK(listener.told.back().text.size() >= 4000); // what the request lets the guest keep
    CHECK(listener.told.back().total_bytes > listener.told.front().total_bytes);
    CHECK(listener.told.back().text.find("9\n0123456789\n") != std::string::npos);
    CHECK(other.offered == 0);
    listener.listening.reset();
    const auto offered = listener.offered;
    guest.spin(300ms);
    CHECK(listener.offered == offered);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("who does not take one is told the newest later")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("echo first; sleep 0.4; echo second; sleep 9");
    Listener listener(guest, request.id, 50ms);
    listener.takes = false;
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.offered >= 5; }));
    listener.takes = true;
    REQUIRE(guest.until([&] { return !listener.told.empty(); }));
    CHECK(listener.told.size() == 1);
    CHECK(listener.told[0].text == "first\nsecond\n");
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("the stream that was written last is told, without half a character")
{
    Guest guest(Mode::subreaper);
    const auto request =
        Guest::request("echo out; sleep 0.3; printf 'err \\303\\244\\303' >&2; sleep 9");
    Listener listener(guest, request.id, 50ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.told.size() >= 2; }));
    CHECK(listener.told[0].text == "out\n");
    CHECK(listener.told[1].text == "err ä");
    CHECK(listener.told[1].total_bytes == 6);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("a job is told by its own id, also what it printed before")
{
    Guest guest(Mode::subreaper);
    const auto job =
        guest.run(in_background("echo one; sleep 0.3; echo two; sleep 9")).reply.job_id;
    guest.spin(100ms);
    Listener listener(guest, job, 50ms);
    REQUIRE(guest.until([&] { return !listener.told.empty(); }));
    CHECK(listener.told[0].text == "one\ntwo\n");
    kill(guest, job, 9);
    const auto offered = listener.offered;
    guest.spin(200ms);
    CHECK(listener.offered == offered);
}

} // namespace berth::guest::test
