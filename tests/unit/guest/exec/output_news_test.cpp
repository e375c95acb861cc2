#include "sandbox/guest/output_news.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::guest::test {
namespace {

using namespace std::chrono_literals;

/// Who listens to a command, and what was told. Nothing here hangs on how fast anything is: a
/// command goes on when a file says so, and what is never told is so however long one waits.
struct Listener {
    std::vector<protocol::PrintedTail> told;
    bool takes = true;
    int offered = 0;
    std::string last; ///< that was offered
    std::shared_ptr<void> listening;

    Listener(Guest& guest, const std::string& id, std::chrono::milliseconds apart)
        : listening(guest.commands->tell_output(id, apart, [this](protocol::PrintedTail tail) {
              ++offered;
              last = tail.text;
              if (takes) {
                  told.push_back(std::move(tail));
              }
              return takes;
          }))
    {
    }

    [[nodiscard]] bool told_last(const std::string& text) const
    {
        return !told.empty() && told.back().text == text;
    }
};

/// The command goes no further before let_go().
const std::string waits = "; until [ -e ~/go ]; do sleep 0.02; done; ";

void let_go(const Guest& guest)
{
    const std::ofstream file(guest.home() + "/go");
}

/// OutputNews on a loop of its own: of one command, that has printed `text`.
struct News {
    EventLoop loop;
    std::string text;
    std::vector<std::pair<BootClock::time_point, std::string>> told;
    OutputNews news{loop, [this](const std::string&) {
                        return protocol::PrintedTail{.text = text, .total_bytes = text.size()};
                    }};

    void listen(std::chrono::milliseconds apart)
    {
        news.add("c", apart, [this](protocol::PrintedTail tail) {
            told.emplace_back(BootClock::now(), tail.text);
            loop.stop();
            return true;
        });
    }

    void print(const std::string& more)
    {
        text += more;
        news.printed("c");
    }
};

} // namespace

TEST_CASE("what comes together is told together, and then no more than there is")
{
    News command;
    command.listen(0ms);
    command.print("one\n");
    command.print("two\n");
    command.loop.run();
    REQUIRE(command.told.size() == 1);
    CHECK(command.told[0].second == "one\ntwo\n");
    command.print("three\n");
    command.loop.run();
    REQUIRE(command.told.size() == 2);
    CHECK(command.told[1].second == "one\ntwo\nthree\n");
}

TEST_CASE("from one to the next, and to the first, there is the time that was asked for")
{
    News command;
    const auto began = BootClock::now();
    command.listen(300ms);
    command.print("one\n");
    command.loop.run();
    command.print("two\n");
    command.loop.run();
    REQUIRE(command.told.size() == 2);
    CHECK(command.told[0].first - began >= 300ms);
    CHECK(command.told[1].first - command.told[0].first >= 300ms);
}

TEST_CASE("what a command prints is told while it runs: the newest, as it is")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("echo line 1" + waits + "echo line 2; sleep 300");
    Listener listener(guest, request.id, 1ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.told_last("line 1\n"); }));
    CHECK(listener.told.size() == 1);
    let_go(guest);
    REQUIRE(guest.until([&] { return listener.told_last("line 1\nline 2\n"); }));
    CHECK(listener.told.size() == 2);
    CHECK(listener.told.back().total_bytes == 14);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("what is over before it is to be told, and what is silent, is never told")
{
    Guest guest(Mode::subreaper);
    const auto brief = Guest::request("echo brief");
    Listener to_brief(guest, brief.id, 1h);
    (void)guest.run(brief);
    const auto silent = Guest::request("sleep 0.3");
    Listener to_silent(guest, silent.id, 1ms);
    (void)guest.run(silent);
    CHECK(to_brief.offered + to_silent.offered == 0);
}

TEST_CASE("of an endless output little is told, the stream's end, and only to who listens")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("yes 0123456789");
    Listener listener(guest, request.id, 1ms);
    Listener other(guest, Guest::request("true").id, 1ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.told.size() >= 2; }));
    CHECK(listener.told.back().text.size() <= 4096);
    CHECK(listener.told.back().text.size() >= 4000); // what the request lets the guest keep
    CHECK(listener.told.back().total_bytes > listener.told.front().total_bytes);
    CHECK(listener.told.back().text.find("9\n0123456789\n") != std::string::npos);
    CHECK(other.offered == 0);
    listener.listening.reset();
    const auto offered = listener.offered;
    Listener later(guest, request.id, 1ms);
    REQUIRE(guest.until([&] { return later.offered >= 2; }));
    CHECK(listener.offered == offered);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("who does not take one is told the newest later")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("echo first" + waits + "echo second; sleep 300");
    Listener listener(guest, request.id, 1ms);
    listener.takes = false;
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.offered >= 2; }));
    CHECK(listener.last == "first\n");
    let_go(guest);
    REQUIRE(guest.until([&] { return listener.last == "first\nsecond\n"; }));
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
        Guest::request("echo out" + waits + "printf 'err \\303\\244\\303' >&2; sleep 300");
    Listener listener(guest, request.id, 1ms);
    const auto handle = guest.start(request);
    REQUIRE(guest.until([&] { return listener.told_last("out\n"); }));
    let_go(guest);
    REQUIRE(guest.until([&] { return listener.told.size() >= 2; }));
    CHECK(listener.told[1].text == "err ä");
    CHECK(listener.told[1].total_bytes == 6);
    guest.commands->cancel(request.id);
    guest.wait_for(handle);
}

TEST_CASE("a job is told by its own id, also what it printed before")
{
    Guest guest(Mode::subreaper);
    const auto job =
        guest.run(in_background("echo one" + waits + "echo two; sleep 300", 300'000)).reply.job_id;
    REQUIRE(guest.until([&] { return output(guest, job).out.text.head == "one\n"; }));
    Listener listener(guest, job, 1ms);
    let_go(guest);
    REQUIRE(guest.until([&] { return listener.told_last("one\ntwo\n"); }));
    CHECK(listener.told.size() == 1);
    kill(guest, job, 9);
    const auto offered = listener.offered;
    guest.spin(200ms);
    CHECK(listener.offered == offered);
}

} // namespace berth::guest::test
