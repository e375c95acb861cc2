#include "sandbox/base/error.hpp"
#include "sandbox/guest/workers.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <pthread.h>

using berth::guest::Workers;
using berth::tests::becomes_true;
using namespace std::chrono_literals;

TEST_CASE("jobs that hang do not hold up the others, up to the limit")
{
    std::latch release(1);
    std::atomic<int> done = 0;
    Workers workers({.most = 4});
    for (int i = 0; i < 3; ++i) {
        workers.run([&] { release.wait(); });
    }
    for (int i = 0; i < 20; ++i) {
        workers.run([&] { ++done; });
    }
    CHECK(becomes_true([&] { return done == 20; }));
    CHECK(workers.threads() == 4);
    workers.run([&] { release.wait(); });
    workers.run([&] { ++done; });
    std::this_thread::sleep_for(20ms);
    CHECK(done == 20);
    release.count_down();
    CHECK(becomes_true([&] { return done == 21; }));
}

TEST_CASE("idle threads end, and come back when they are needed")
{
    Workers workers({.idle = 10ms});
    CHECK(workers.threads() == 0);
    std::atomic<int> done = 0;
    workers.run([&] { ++done; });
    CHECK(becomes_true([&] { return done == 1 && workers.threads() == 0; }));
    workers.run([&] { ++done; });
    CHECK(becomes_true([&] { return done == 2; }));
}

TEST_CASE("a thread is used again before another one is started")
{
    Workers workers;
    for (int i = 0; i < 10; ++i) {
        std::latch done(1);
        workers.run([&] { done.count_down(); });
        done.wait();
        std::this_thread::sleep_for(2ms);
    }
    CHECK(workers.threads() == 1);
}

TEST_CASE("a full queue says busy")
{
    std::latch release(1);
    Workers workers({.most = 1, .queue = 2});
    workers.run([&] { release.wait(); });
    std::this_thread::sleep_for(20ms);
    workers.run([] {});
    workers.run([] {});
    CHECK_THROWS_AS(workers.run([] {}), berth::Error);
    release.count_down();
}

TEST_CASE("a job has the stack it was promised")
{
    std::atomic<std::size_t> size = 0;
    {
        Workers workers({.stack = 512UL * 1024});
        std::latch done(1);
        workers.run([&] {
            pthread_attr_t attributes;
            ::pthread_getattr_np(::pthread_self(), &attributes);
            void* base = nullptr;
            std::size_t found = 0;
            ::pthread_attr_getstack(&attributes, &base, &found);
            ::pthread_attr_destroy(&attributes);
            size = found;
            done.count_down();
        });
        done.wait();
    }
    CHECK(size >= 512UL * 1024);
    CHECK(size < 1024UL * 1024);
}
