#include "sandbox/base/io.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "tests/unit/suspension.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

using berth::BootClock;
using berth::guest::EventLoop;
using namespace std::chrono_literals;

TEST_CASE("timers run in the order of their times, cancelled ones never")
{
    EventLoop loop;
    std::string order;
    const auto now = BootClock::now();
    (void)loop.call_at(now + 6ms, [&] { order += 'c'; });
    (void)loop.call_at(now + 2ms, [&] { order += 'a'; });
    const auto cancelled = loop.call_at(now + 3ms, [&] { order += 'x'; });
    (void)loop.call_at(now + 4ms, [&] { order += 'b'; });
    (void)loop.call_at(now + 8ms, [&] { loop.stop(); });
    loop.cancel(cancelled);
    loop.cancel(cancelled);
    loop.cancel(12345);
    loop.run();
    CHECK(order == "abc");
    CHECK(BootClock::now() >= now + 8ms);
}

TEST_CASE("a timer set to an earlier time than the armed one still fires in time")
{
    EventLoop loop;
    const auto begin = BootClock::now();
    (void)loop.call_at(begin + 10s, [&] { loop.stop(); });
    loop.post([&] { (void)loop.call_at(BootClock::now() + 5ms, [&] { loop.stop(); }); });
    loop.run();
    CHECK(BootClock::now() - begin < 5s);
}

TEST_CASE("a timer for time awake waits for the rest of it after the host was suspended")
{
    for (const bool awake : {true, false}) {
        CAPTURE(awake);
        EventLoop loop;
        const auto begin = std::chrono::steady_clock::now();
        const auto end = [&] { loop.stop(); };
        constexpr auto time = 1500ms;
        (void)(awake ? loop.call_awake(time, end) : loop.call_at(BootClock::now() + time, end));
        const auto cancelled = loop.call_awake(time - 100ms, [] { FAIL("it was cancelled"); });
        (void)loop.call_at(BootClock::now() + 20min, [&] { loop.cancel(cancelled); });
        const berth::tests::Suspension night(8h);
        loop.run();
        CHECK((std::chrono::steady_clock::now() - begin >= time) == awake);
    }
}

TEST_CASE("a timer may cancel one that is due in the same round")
{
    EventLoop loop;
    bool fired = false;
    EventLoop::TimerId second = 0;
    const auto at = BootClock::now() - 1ms;
    (void)loop.call_at(at, [&] { loop.cancel(second); });
    second = loop.call_at(at, [&] { fired = true; });
    (void)loop.call_at(at, [&] { loop.stop(); });
    loop.run();
    CHECK_FALSE(fired);
}

TEST_CASE("a timer that sets itself anew for now starves nobody")
{
    EventLoop loop;
    auto pipe = berth::make_pipe(O_NONBLOCK);
    int rounds = 0;
    EventLoop::Task again = [&] {
        ++rounds;
        (void)loop.call_at(BootClock::now(), again);
    };
    (void)loop.call_at(BootClock::now(), again);
    berth::write_full(pipe.write.get(), "x");
    loop.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) { loop.stop(); });
    loop.run();
    loop.unwatch(pipe.read.get());
    CHECK(rounds < 100'000);
}

TEST_CASE("post from another thread wakes the loop and keeps the order")
{
    EventLoop loop;
    std::string order;
    std::thread other([&] {
        for (char c = 'a'; c <= 'z'; ++c) {
            loop.post([&order, c] { order += c; });
        }
        loop.post([&] { loop.stop(); });
    });
    loop.run();
    other.join();
    CHECK(order == "abcdefghijklmnopqrstuvwxyz");
}

TEST_CASE("a stop before run is not lost, and run can be called again")
{
    EventLoop loop;
    bool posted = false;
    loop.post([&] { posted = true; });
    loop.stop();
    loop.run();
    CHECK(posted);
    loop.post([&] { loop.stop(); });
    loop.run();
}

TEST_CASE("a callback may remove its own watch and another's that is ready too")
{
    EventLoop loop;
    auto first = berth::make_pipe(O_NONBLOCK);
    auto second = berth::make_pipe(O_NONBLOCK);
    berth::write_full(first.write.get(), "x");
    berth::write_full(second.write.get(), "x");
    int calls = 0;
    const auto ready = [&](std::uint32_t) {
        ++calls;
        loop.unwatch(first.read.get());
        loop.unwatch(second.read.get());
        loop.unwatch(second.read.get());
        loop.post([&] { loop.stop(); });
    };
    loop.watch(first.read.get(), EPOLLIN, ready);
    loop.watch(second.read.get(), EPOLLIN, ready);
    loop.run();
    CHECK(calls == 1);
}

TEST_CASE("an event of a closed descriptor does not reach the one that got its number")
{
    EventLoop loop;
    auto one = berth::make_pipe(O_NONBLOCK);
    auto two = berth::make_pipe(O_NONBLOCK);
    berth::Pipe quiet;
    berth::write_full(one.write.get(), "x");
    berth::write_full(two.write.get(), "x");
    bool stale = false;
    const auto replace = [&](berth::Pipe& other) {
        const int number = other.read.get();
        loop.unwatch(number);
        quiet = berth::make_pipe(O_NONBLOCK);
        REQUIRE(::dup3(quiet.read.get(), number, O_CLOEXEC) == number);
        loop.watch(number, EPOLLIN, [&](std::uint32_t) { stale = true; });
        loop.post([&] { loop.stop(); });
    };
    loop.watch(one.read.get(), EPOLLIN, [&](std::uint32_t) {
        loop.unwatch(one.read.get());
        replace(two);
    });
    loop.watch(two.read.get(), EPOLLIN, [&](std::uint32_t) {
        loop.unwatch(two.read.get());
        replace(one);
    });
    loop.run();
    CHECK_FALSE(stale);
}

TEST_CASE("a change of the events is obeyed")
{
    EventLoop loop;
    auto pipe = berth::make_pipe(O_NONBLOCK);
    berth::write_full(pipe.write.get(), "x");
    int calls = 0;
    loop.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) {
        ++calls;
        loop.change(pipe.read.get(), 0);
        (void)loop.call_at(BootClock::now() + 5ms, [&] { loop.stop(); });
    });
    loop.run();
    CHECK(calls == 1);
}

TEST_CASE("a loop at rest is told once, and again after something has happened")
{
    EventLoop loop;
    std::string order;
    loop.on_rest(20ms, [&] {
        order += 'r';
        if (order == "r") { // a timer by itself is nothing that happens
            (void)loop.call_at(BootClock::now() + 50ms, [&] { order += 't'; });
            (void)loop.call_at(BootClock::now() + 100ms, [&] { loop.post([&] { order += 'p'; }); });
        } else {
            (void)loop.call_at(BootClock::now() + 50ms, [&] { loop.stop(); });
        }
    });
    loop.run();
    CHECK(order == "rtpr");
}
