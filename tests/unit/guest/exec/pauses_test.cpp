#include "sandbox/base/error.hpp"
#include "sandbox/guest/pause/pauses.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>

// Pauses with real commands: who is refused, what wakes, and that time limits stand still.

namespace berth::guest::test {
namespace {

using namespace std::chrono_literals;

struct Paused {
    struct Answer {
        protocol::PauseReply reply;
        std::exception_ptr error;
    };

    Guest guest{Mode::subreaper};
    std::size_t clients = 1;
    bool ended = false;
    Pauses pauses;

    explicit Paused(PauseController::Policy policy = {})
        : pauses(guest.loop, *guest.commands,
                 {.policy = policy,
                  .clients = [this] { return clients; },
                  .end = [this] { ended = true; }})
    {
    }

    ~Paused() { pauses.close(); }

    Paused(const Paused&) = delete;
    Paused& operator=(const Paused&) = delete;

    Answer pause()
    {
        std::optional<Answer> answer;
        pauses.pause([&](const protocol::PauseReply& reply, std::exception_ptr error) {
            answer = Answer{reply, std::move(error)};
        });
        REQUIRE(guest.until([&] { return answer.has_value(); }));
        return *answer;
    }
};

std::string message_of(const std::exception_ptr& error)
{
    try {
        std::rethrow_exception(error);
    } catch (const Error& told) {
        CHECK(told.code() == ErrorCode::busy);
        CHECK_FALSE(told.hint().empty());
        return told.what();
    }
}

} // namespace

TEST_CASE("pauses: while a call is in flight it is refused, and says which")
{
    Paused session;
    auto ticket = session.pauses.begin_call("a command");
    ticket->say("the command `make`");
    const auto refused = session.pause();
    REQUIRE(refused.error);
    CHECK(message_of(refused.error).find("the command `make` is in flight") != std::string::npos);
    CHECK(session.pauses.describe().calls.size() == 1);
    ticket.reset();
    CHECK_FALSE(session.pause().error);
    CHECK(session.pauses.is_paused());
    CHECK(session.pause().reply.was_paused);
}

TEST_CASE("pauses: the time limit of a job stands still, and does not fire in arrears")
{
    Paused session;
    const auto handle = session.guest.start(in_background("sleep 300", 1500));
    REQUIRE(session.guest.wait_for(handle).reply.job_id == "job-1");
    const auto paused = session.pause();
    REQUIRE_FALSE(paused.error);
    CHECK(paused.reply.jobs == 1);
    const auto left = session.guest.commands->jobs().front().remaining;
    session.guest.spin(1600ms);
    CHECK(session.guest.commands->jobs().front().remaining == left);
    CHECK(session.pauses.resume().was_paused);
    session.guest.spin(50ms);
    CHECK(session.guest.commands->job_count() == 1);
    CHECK(session.guest.until([&] { return session.guest.commands->job_count() == 0; }));
}

TEST_CASE("pauses: a call wakes, and takes back what was only asked for")
{
    Paused session;
    REQUIRE_FALSE(session.pause().error);
    const auto ticket = session.pauses.begin_call("reading a file");
    CHECK_FALSE(session.pauses.is_paused());
    CHECK(session.pauses.describe().why.empty());
    CHECK_FALSE(session.pauses.resume().was_paused);
}

TEST_CASE("pauses: a call that comes while it is being frozen")
{
    Paused session;
    std::exception_ptr refused;
    session.pauses.pause(
        [&](const protocol::PauseReply&, std::exception_ptr error) { refused = std::move(error); });
    const auto ticket = session.pauses.begin_call("reading a file");
    REQUIRE(refused);
    CHECK(message_of(refused).find("reading a file") != std::string::npos);
    session.guest.spin(50ms);
    CHECK_FALSE(session.pauses.is_paused());
}

TEST_CASE("pauses: by itself when it is idle, and when the last client leaves")
{
    {
        Paused idle({.idle_pause = 50ms});
        CHECK(idle.pauses.describe().pauses_in.value_or(1000) <= 50);
        CHECK(idle.guest.until([&] { return idle.pauses.is_paused(); }));
        CHECK(idle.pauses.describe().why == "idle");
    }
    {
        Paused left({.idle_pause = 1h, .on_disconnect = protocol::OnDisconnect::now});
        REQUIRE(left.guest.run("sleep 300 >/dev/null 2>&1 &").reply.job_id == "job-1");
        left.clients = 0;
        left.pauses.clients_changed();
        CHECK(left.guest.until([&] { return left.pauses.is_paused(); }));
        CHECK(left.pauses.describe().why == "left");
        CHECK(left.pauses.describe().mechanism == "signals");
    }
    {
        Paused killed({.on_disconnect = protocol::OnDisconnect::kill});
        killed.clients = 0;
        killed.pauses.clients_changed();
        CHECK(killed.guest.until([&] { return killed.ended; }));
    }
}

TEST_CASE("pauses: the end of the last job begins the idle time")
{
    Paused session({.idle_pause = 20ms});
    const auto handle = session.guest.start(in_background("sleep 0.3"));
    REQUIRE(session.guest.wait_for(handle).reply.job_id == "job-1");
    session.guest.spin(60ms);
    CHECK_FALSE(session.pauses.is_paused());
    CHECK(session.guest.until([&] { return session.pauses.is_paused(); }));
}

} // namespace berth::guest::test
