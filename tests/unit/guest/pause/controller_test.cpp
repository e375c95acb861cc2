#include "sandbox/guest/pause/controller.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

// Without processes: times and events in, orders out.

namespace berth::guest {
namespace {

using namespace std::chrono_literals;
using protocol::OnDisconnect;
using Controller = PauseController;
using Order = Controller::Order;
using State = Controller::State;
using Why = Controller::Why;

constexpr Controller::Load attended{.clients = 1};
constexpr Controller::Load deserted{};
constexpr auto half_grace = std::chrono::milliseconds(Controller::leave_grace) / 2;

/// A controller and the time it is told.
struct Bench {
    explicit Bench(OnDisconnect on_disconnect = OnDisconnect::idle,
                   BootClock::duration idle_pause = 5min)
        : controller({idle_pause, on_disconnect})
    {
        CHECK(look(attended) == Order::none);
    }

    Order look(Controller::Load load)
    {
        load.awake = awake;
        return controller.look(load, now);
    }

    Order after(BootClock::duration time, const Controller::Load& load)
    {
        now += time;
        awake += std::chrono::duration_cast<Deadline::Clock::duration>(time);
        return look(load);
    }

    /// Nobody is there, and nobody comes back in time.
    Order leave(const Controller::Load& load)
    {
        CHECK(look(load) == Order::none);
        const auto next = controller.next_look(now);
        CHECK((next && *next <= now + Controller::leave_grace));
        return after(Controller::leave_grace, load);
    }

    /// From the order to freeze on.
    void be_frozen()
    {
        CHECK(controller.state() == State::pausing);
        CHECK(controller.frozen(true, now) == Order::none);
        CHECK(controller.state() == State::paused);
    }

    Controller::Time now{1h};
    Controller::AwakeTime awake{1h};
    Controller controller;
};

} // namespace

TEST_CASE("pause: after idle_pause without call and job, not before")
{
    Bench bench;
    CHECK(bench.controller.pauses_at() == bench.now + 5min);
    CHECK(bench.controller.next_look(bench.now) == bench.now + 5min);
    CHECK(bench.after(5min - 1ms, attended) == Order::none);
    CHECK(bench.after(1ms, attended) == Order::freeze);
    CHECK(bench.controller.why() == Why::idle);
    bench.be_frozen();
    CHECK_FALSE(bench.controller.pauses_at());
    CHECK_FALSE(bench.controller.next_look(bench.now));
    CHECK(bench.after(1h, attended) == Order::none);
}

TEST_CASE("pause: a call starts the idle time anew, and wakes")
{
    Bench bench;
    CHECK(bench.after(4min, attended) == Order::none);
    CHECK(bench.controller.call_begins() == Order::none);
    CHECK(bench.after(1h, {.clients = 1, .calls = 1}) == Order::none);
    CHECK_FALSE(bench.controller.pauses_at());
    CHECK(bench.look(attended) == Order::none);
    CHECK(bench.after(5min, attended) == Order::freeze);
    CHECK(bench.controller.call_begins() == Order::thaw); // also of what is only being frozen
    CHECK(bench.controller.state() == State::awake);
    CHECK(bench.look(attended) == Order::none);
    CHECK(bench.after(5min, attended) == Order::freeze);
    bench.be_frozen();
    CHECK(bench.controller.call_begins() == Order::thaw);
    CHECK(bench.controller.call_begins() == Order::none);
}

TEST_CASE("pause: a job inside its time limit keeps awake, and its end begins the idle time")
{
    Bench bench;
    CHECK(bench.after(1h, {.clients = 1, .jobs = 1}) == Order::none);
    CHECK_FALSE(bench.controller.next_look(bench.now));
    CHECK(bench.look(attended) == Order::none);
    CHECK(bench.controller.pauses_at() == bench.now + 5min);
}

TEST_CASE("pause: an idle_pause of 0 is never, whoever leaves")
{
    Bench bench(OnDisconnect::idle, 0s);
    CHECK_FALSE(bench.controller.pauses_at());
    CHECK(bench.after(24h, attended) == Order::none);
    CHECK(bench.after(24h, deserted) == Order::none);
}

TEST_CASE("pause: what the guest has to finish comes first")
{
    Bench bench;
    CHECK(bench.after(5min, {.clients = 1, .settled = false}) == Order::none);
    CHECK(bench.controller.next_look(bench.now) == bench.now + Controller::settle_step);
    CHECK(bench.after(Controller::settle_step, attended) == Order::freeze);
}

TEST_CASE("on_disconnect = idle: as soon as it is idle once nobody is there")
{
    Bench bench;
    CHECK(bench.look({.clients = 0, .jobs = 1}) == Order::none);
    CHECK(bench.after(1h, {.clients = 0, .jobs = 1}) == Order::none);
    CHECK(bench.look(deserted) == Order::freeze);
    CHECK(bench.controller.why() == Why::left);
    SUBCASE("at once where it is idle already")
    {
        Bench idle;
        CHECK(idle.leave(deserted) == Order::freeze);
    }
    SUBCASE("not where nobody has been yet: a machine that is being made")
    {
        Controller fresh({5min, OnDisconnect::idle});
        CHECK(fresh.look(deserted, bench.now) == Order::none);
        CHECK(fresh.look(deserted, bench.now + 5min) == Order::freeze);
        CHECK(fresh.why() == Why::idle);
    }
    SUBCASE("not where somebody else is there")
    {
        Bench two;
        CHECK(two.look({.clients = 2}) == Order::none);
        CHECK(two.look({.clients = 1}) == Order::none);
        CHECK(two.controller.pauses_at() == two.now + 5min);
    }
}

TEST_CASE("on_disconnect = now: at once, jobs or not, once no call is in flight")
{
    Bench bench(OnDisconnect::now, 0s);
    CHECK(bench.leave({.clients = 0, .calls = 1, .jobs = 1}) == Order::none);
    CHECK(bench.look({.clients = 0, .jobs = 1}) == Order::freeze);
    CHECK(bench.controller.why() == Why::left);
    bench.be_frozen();
    SUBCASE("once: who wakes it on purpose has it awake")
    {
        CHECK(bench.controller.resume(bench.now) == Order::thaw);
        CHECK(bench.after(1h, {.clients = 0, .jobs = 1}) == Order::none);
    }
    SUBCASE("the next who comes and leaves pauses it again")
    {
        CHECK(bench.look(attended) == Order::none);
        CHECK(bench.controller.state() == State::paused); // to be there wakes nothing
        CHECK(bench.controller.call_begins() == Order::thaw);
        CHECK(bench.look({.clients = 1, .calls = 1}) == Order::none);
        CHECK(bench.leave(deserted) == Order::freeze);
    }
}

TEST_CASE("who could not come back, as the host was suspended, has not left")
{
    Bench bench(OnDisconnect::kill, 0s);
    CHECK(bench.look(deserted) == Order::none);
    bench.now += 8h; // and the other clock stood
    CHECK(bench.look(deserted) == Order::none);
    const auto next = bench.controller.next_look(bench.now);
    CHECK((next && *next == bench.now + Controller::leave_grace));
    CHECK(bench.look(attended) == Order::none);
    CHECK(bench.look(deserted) == Order::none);
    CHECK(bench.after(Controller::leave_grace, deserted) == Order::end);
}

TEST_CASE("who lost the connection and is back in time has not left")
{
    Bench bench(OnDisconnect::kill);
    for (int i = 0; i < 3; ++i) {
        CHECK(bench.look(deserted) == Order::none);
        CHECK(bench.after(Controller::leave_grace - 1ms, deserted) == Order::none);
        CHECK(bench.look(attended) == Order::none);
    }
    CHECK(bench.leave(deserted) == Order::end);
}

TEST_CASE("on_disconnect = keep: never by itself, until somebody is there again")
{
    Bench bench(OnDisconnect::keep);
    CHECK(bench.leave(deserted) == Order::none);
    CHECK_FALSE(bench.controller.pauses_at());
    Bench quick(OnDisconnect::keep, half_grace);
    CHECK(quick.look(deserted) == Order::none);
    // Nor in the second in which somebody may come back.
    CHECK(quick.after(half_grace, deserted) == Order::none);
    CHECK(quick.after(Controller::leave_grace, deserted) == Order::none);
    CHECK(bench.after(24h, deserted) == Order::none);
    CHECK(bench.controller.resume(bench.now) == Order::none); // nor because somebody asked
    CHECK(bench.after(24h, deserted) == Order::none);
    bench.controller.ask();
    CHECK(bench.look(deserted) == Order::freeze);
    CHECK(bench.controller.frozen(true, bench.now) == Order::none);
    CHECK(bench.controller.call_begins() == Order::thaw);
    CHECK(bench.look(attended) == Order::none);
    CHECK(bench.after(5min, attended) == Order::freeze);
}

TEST_CASE("on_disconnect = kill: ended when the last one leaves, paused or not")
{
    Bench bench(OnDisconnect::kill);
    CHECK(bench.look({.clients = 2}) == Order::none);
    CHECK(bench.look({.clients = 1, .jobs = 1}) == Order::none);
    CHECK(bench.leave({.clients = 0, .jobs = 1}) == Order::end);
    CHECK(bench.after(24h, deserted) == Order::none); // while it ends
    Bench quick(OnDisconnect::kill, half_grace);
    CHECK(quick.look(deserted) == Order::none);
    CHECK(quick.after(half_grace, deserted) == Order::none); // nor just before
    CHECK(quick.after(half_grace, deserted) == Order::end);
    Bench paused(OnDisconnect::kill);
    CHECK(paused.after(5min, attended) == Order::freeze);
    paused.be_frozen();
    CHECK(paused.leave(deserted) == Order::end);
}

TEST_CASE("a pause that is asked for: jobs sleep too, a call in between takes it back")
{
    Bench bench;
    bench.controller.ask();
    CHECK(bench.look({.clients = 1, .jobs = 2}) == Order::freeze);
    CHECK(bench.controller.why() == Why::asked);
    bench.be_frozen();
    CHECK(bench.controller.resume(bench.now) == Order::thaw);
    CHECK(bench.controller.resume(bench.now) == Order::none);
    bench.controller.ask();
    CHECK(bench.look({.clients = 1, .settled = false}) == Order::none);
    CHECK(bench.controller.call_begins() == Order::none);
    CHECK(bench.look({.clients = 1, .calls = 1}) == Order::none);
    CHECK(bench.look(attended) == Order::none);
}

TEST_CASE("what cannot be frozen goes on, and is tried again later")
{
    Bench bench(OnDisconnect::now);
    CHECK(bench.leave(deserted) == Order::freeze);
    CHECK(bench.controller.frozen(false, bench.now) == Order::thaw);
    CHECK(bench.controller.state() == State::awake);
    CHECK(bench.look(deserted) == Order::none);
    CHECK(bench.controller.next_look(bench.now) == bench.now + Controller::retry_after);
    SUBCASE("by itself after a while")
    {
        auto wait = BootClock::duration(Controller::retry_after);
        for (int i = 0; i < 20; ++i) {
            CHECK(bench.after(wait - 1ms, deserted) == Order::none);
            CHECK(bench.after(1ms, deserted) == Order::freeze);
            CHECK(bench.controller.frozen(false, bench.now) == Order::thaw);
            wait = std::min<BootClock::duration>(2 * wait, Controller::longest_retry);
        }
    }
    SUBCASE("at once when somebody asks for it")
    {
        bench.controller.ask();
        CHECK(bench.look(deserted) == Order::freeze);
    }
}

TEST_CASE("a pause that succeeds ends the waiting after those that did not")
{
    Bench bench(OnDisconnect::idle, 1s);
    CHECK(bench.after(1s, attended) == Order::freeze);
    CHECK(bench.controller.frozen(false, bench.now) == Order::thaw);
    CHECK(bench.controller.pauses_at() == bench.now + Controller::retry_after);
    bench.controller.ask();
    CHECK(bench.look(attended) == Order::freeze);
    bench.be_frozen();
    CHECK(bench.controller.resume(bench.now) == Order::thaw);
    CHECK(bench.after(1s, attended) == Order::freeze);
    CHECK(bench.controller.frozen(false, bench.now) == Order::thaw);
    CHECK(bench.controller.pauses_at() == bench.now + Controller::retry_after);
}

TEST_CASE("when it will be tried again is told, also while jobs run")
{
    Bench bench(OnDisconnect::now, 0s);
    constexpr Controller::Load job{.clients = 0, .jobs = 1};
    CHECK(bench.leave(job) == Order::freeze);
    CHECK(bench.controller.frozen(false, bench.now) == Order::thaw);
    CHECK(bench.controller.pauses_at() == bench.now + Controller::retry_after);
    CHECK(bench.look({.clients = 0, .calls = 1, .jobs = 1}) == Order::none);
    CHECK_FALSE(bench.controller.pauses_at()); // when the call ends, nobody knows
}

TEST_CASE("who wakes a session has all of the idle time")
{
    Bench bench;
    CHECK(bench.after(5min, attended) == Order::freeze);
    bench.be_frozen();
    CHECK(bench.after(1h, attended) == Order::none);
    CHECK(bench.controller.resume(bench.now) == Order::thaw);
    CHECK(bench.controller.pauses_at() == bench.now + 5min);
    CHECK(bench.after(5min, attended) == Order::freeze);
}

} // namespace berth::guest
